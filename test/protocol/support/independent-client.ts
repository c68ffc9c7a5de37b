// Written from PROTOCOL.md alone, in at most 150 lines; imports nothing of ours.
import { WebSocket } from 'ws';

type Data = Record<string, unknown>;
type Decision = { approved: boolean; reason?: string | undefined };
type Person = { decide(toolCallId: string): Decision; run(toolName: string, input: unknown): unknown };
type Session = { connectionId?: string; floor?: string | null; newest?: string; received?: Ids[] };
type Ids = { id: string; toolCallId: string; messageId: string; requestId: string };
type Tool = { toolMetadata: { runsOn: string; asks: boolean; optimistic?: boolean }; approval: Decision };
type Part = { type: string; state?: string; text?: string; data?: unknown } & Partial<Ids & Tool> & Data;
type Message = { id: string; role: string; parts: Part[]; metadata?: Data };
type Reported = Session & Ids & Decision & { message: Message; messages: Message[]; errorText: string };
type Chunk = { type: string; delta: string; messageMetadata?: Data; data: Reported } & Ids & Data;
const retried = [1006, 1008, 1011, 1012, 1013, 4002, 4003, 4004]; // E1
const states: Data = { 'tool-input-start': 'input-streaming', 'tool-approval-request': 'approval-requested' };
const seq = (id = '') => Number(/\d*$/.exec(id));
function merge(old: unknown, now: unknown): unknown {
  if (old?.constructor !== Object || now?.constructor !== Object) return now;
  const merged = Object.entries(now).map(([key, value]) => [key, merge((old as Data)[key], value)]);
  return { ...old, ...Object.fromEntries(merged) };
}
function decide(part: Part, { approved, reason }: Decision): void {
  if (part.state !== 'approval-requested') return;
  part.state = 'approval-responded';
  part.approval = { ...part.approval, approved, reason };
}
/** T2: whom a call waits for, if it is not the server. */
function waitsFor({ state = '', approval, toolMetadata }: Part): 'person' | 'client' | undefined {
  if (state === 'approval-requested') return 'person';
  const isOpen = state === 'input-available' || state === 'approval-responded';
  const mayRun = isOpen && (approval?.approved || !toolMetadata?.asks);
  return mayRun && toolMetadata?.runsOn === 'client' && !toolMetadata.optimistic ? 'client' : undefined;
}

export class IndependentClient {
  messages: Message[] = [];
  errors: unknown[] = [];
  session: Session = {};
  dones = 0;
  private socket: WebSocket | undefined;
  private rest = '';
  private last: string | undefined;
  private message: Message = { id: '', role: 'assistant', parts: [] };
  private readonly blocks = new Map<string, Part>();
  private readonly outbox = new Map<string, string>();
  private readonly answered = new Set<string>();
  constructor(private readonly of: { url: string; id: string; person: Person }) {}
  connect(): void {
    const query = new URLSearchParams({ session: this.of.id, ...(this.last && { last: this.last }) });
    const socket = new WebSocket(`${this.of.url.replace(/^http/, 'ws')}/live?${query}`, ['duologue.v2']);
    [this.socket, this.session] = [socket, {}];
    const again = () => socket === this.socket && this.connect();
    socket.on('error', () => {});
    socket.on('close', (code) => socket === this.socket && retried.includes(code) && setTimeout(again, 1000));
    socket.on('message', (text, isBinary) => socket === this.socket && !isBinary && this.read(`${text}`));
  }
  cut(): void {
    this.socket?.terminate();
    this.socket = undefined;
  }
  say(parts: Data[]): void {
    this.send('message', { messages: [{ id: crypto.randomUUID(), role: 'user', parts }] });
  }
  async post(parts: Data[]): Promise<void> {
    this.messages.push({ id: crypto.randomUUID(), role: 'user', parts: parts as Part[] });
    for (let goesOn = true; goesOn; goesOn = this.answer()) {
      const body = JSON.stringify({ id: this.of.id, messages: this.messages.slice(-1) });
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${this.of.url}/stream`, { method: 'POST', headers, body });
      if (!response.ok) return void this.errors.push(await response.json());
      for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) this.read(piece);
      this.rest = '';
    }
  }
  private send(type: string, data: Data): void {
    const requestId = crypto.randomUUID();
    this.outbox.set(requestId, JSON.stringify({ type, version: '1.0', data: { ...data, requestId } }));
    if (this.session.connectionId) this.socket?.send(this.outbox.get(requestId) ?? '');
  }
  private read(text: string): void {
    const blocks = (this.rest + text).split(/\r\n\r\n|\n\n|\r\r/);
    this.rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const lines = block.split(/\r\n|\n|\r/).map((line) => /^(id|data): ?(.*)$/.exec(line) ?? []);
      const [data, id] = ['data', 'id'].map((name) => lines.filter((l) => l[1] === name).map((l) => l[2]));
      const isDone = data?.[0] === '[DONE]';
      if (isDone) this.last = this.last?.replace(/\d+$/, (now) => `${Number(now) + 1}`); // C5
      if (isDone) this.dones++;
      else if (data?.length) this.take(JSON.parse(data.join('\n')));
      this.last = id?.[0] ?? this.last;
    }
    const { floor, connectionId, newest } = this.session;
    if (connectionId && floor === connectionId && seq(this.last) >= seq(newest)) this.answer();
  }
  /** Answers what waits for the person or the browser: with frames, or in the message that is posted next. */
  private answer(): boolean {
    const { size } = this.answered;
    for (const part of this.messages.flatMap(({ parts }) => parts)) {
      const { toolCallId = '', type, input } = part;
      for (let who = waitsFor(part); who && !this.answered.has(who + toolCallId); who = waitsFor(part)) {
        this.answered.add(who + toolCallId);
        const decision = who === 'person' ? this.of.person.decide(toolCallId) : undefined;
        const status = decision && (decision.approved ? 'approved' : 'rejected');
        const result = decision ? undefined : (this.of.person.run(type.slice(5), input) ?? null);
        if (this.socket) this.send('tool_result', { toolCallId, status, reason: decision?.reason, result });
        else if (decision) decide(part, decision);
        else Object.assign(part, { state: 'output-available', output: result });
      }
    }
    return this.answered.size > size;
  }
  private take({ type, id, messageId, toolCallId, toolName, messageMetadata, delta, data, ...own }: Chunk) {
    const at = this.messages.findIndex((m) => m.id === (messageId ?? data?.messageId ?? data?.message?.id));
    if (type === 'start') this.message = this.messages[at] ?? { id: messageId, role: 'assistant', parts: [] };
    if (type === 'start' && at < 0) this.messages.push(this.message);
    const { parts, metadata = {} } = this.message;
    if (messageMetadata) this.message.metadata = merge(metadata, messageMetadata) as Data;
    if (type === 'tool-input-start') parts.push({ type: `tool-${toolName}`, toolCallId });
    const all = this.messages.flatMap((one) => one.parts);
    const call = all.findLast((part) => part.toolCallId === (toolCallId ?? data?.toolCallId)) ?? { type };
    const [kind = '', event] = type.split('-');
    const old = parts.find((part) => id && part.type === type && part.id === id);
    const block = this.blocks.get(id);
    const { approvalId, approvalDescriptor: descriptor } = own;
    const set = approvalId ? { approval: { id: approvalId, descriptor } } : own;
    if (own.transient) this.hear(type, data, at, call);
    else if (old) old.data = data;
    else if (/^(data|file|source)$/.test(kind)) parts.push({ type, id, data, ...own });
    else if (event === 'start')
      this.blocks.set(id, parts[parts.push({ type: kind, text: '', state: 'streaming' }) - 1] as Part);
    else if (event === 'delta' && block) block.text += delta;
    else if (event === 'end' && block) block.state = 'done';
    else if (kind === 'tool') Object.assign(call, set, { state: states[type] ?? type.slice(5) });
    else if (type === 'start-step' && !this.socket) parts.push({ type: 'step-start' });
  }
  private hear(type: string, data: Reported, at: number, call: Part): void {
    if (type === 'data-error') this.errors.push(data);
    if (type === 'data-error' || type === 'data-accepted') this.outbox.delete(data.requestId);
    if (type === 'data-floor') this.session.floor = data.connectionId ?? null;
    if (type === 'data-decided') decide(call, data);
    if (type === 'data-settled') Object.assign(call, { state: 'output-error', errorText: data.errorText });
    if (type === 'data-reset') this.messages = data.messages;
    if (type === 'data-rewind' && at >= 0) this.messages.splice(at);
    if (type === 'data-message') this.messages.splice(at < 0 ? this.messages.length : at, 1, data.message);
    if (type !== 'data-session') return;
    this.session = data;
    for (const { requestId } of data.received ?? []) this.outbox.delete(requestId);
    for (const frame of this.outbox.values()) this.socket?.send(frame);
  }
}
