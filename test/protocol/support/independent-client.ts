import { WebSocket } from 'ws';

// Written from PROTOCOL.md alone, in at most 150 lines. It imports nothing of ours: it shows what that page is worth to others.

type Fields = Record<string, unknown>;
type Part = Fields & { type: string; toolCallId?: string; state?: string; text?: string };
type Message = { id: string; role: string; parts: Part[]; metadata: Fields };
type Chunk = Fields & { type: string; toolCallId?: string; data: Fields };
type Decision = { approved: boolean; reason?: string };
type Person = { decide(toolCallId: string): Decision; run(toolName: string): unknown };

/** What a chunk changes in the part of its call (C9). */
const CALLS: Record<string, (chunk: Chunk) => Fields> = {
  'tool-input-available': ({ input }) => ({ state: 'input-available', input }),
  'tool-approval-request': ({ approvalId: id }) => ({ state: 'approval-requested', approval: { id } }),
  'tool-output-available': ({ output }) => ({ state: 'output-available', output }),
  'tool-output-error': ({ errorText }) => ({ state: 'output-error', errorText }),
  'data-decided': ({ data }) => ({ state: 'approval-responded', approval: data }),
};

const newMessage = (id: string, role: string, parts: Part[]): Message => ({ id, role, parts, metadata: {} });

/** A client of the protocol: keeps the conversation, answers what it is asked, and goes on where it was cut off. */
export class IndependentClient {
  messages: Message[] = [];
  session: Fields = {};
  dones = 0;
  readonly errors: Fields[] = [];
  private socket: WebSocket | null = null;
  private last = '';
  private current: Message | null = null;
  private readonly blocks = new Map<unknown, Part>();
  /** Requests by name, until they are accepted or refused (B25). */
  private readonly requests = new Map<unknown, string>();
  private readonly answered = new Set<string>();

  constructor(private readonly is: { url: string; id: string; person: Person }) {}

  /** BIDI: opens a connection, behind the last chunk that came (R6). */
  connect(): void {
    const query = `session=${this.is.id}${this.last && `&last=${this.last}`}`;
    const address = `${this.is.url.replace('http', 'ws')}/live?${query}`;
    const socket = new WebSocket(address, ['duologue.v2', 'duologue.v1']);
    this.socket = socket;
    socket.on('error', () => undefined);
    socket.on('message', (data, isBinary) => {
      if (this.socket === socket && !isBinary) this.read(String(data));
    });
  }

  cut(): void {
    this.socket?.terminate();
    this.socket = null;
  }

  say(parts: Part[]): void {
    this.messages.push(newMessage(crypto.randomUUID(), 'user', parts));
    this.request('message', { messages: this.messages.slice(-1) });
  }

  /** SSE: a post and its response; what that asks is answered in the next post, all of it together (S6). */
  async post(parts: Part[]): Promise<void> {
    this.messages.push(newMessage(crypto.randomUUID(), 'user', parts));
    for (let isAsked = true; isAsked; ) {
      const requestId = crypto.randomUUID();
      const body = JSON.stringify({ id: this.is.id, messages: this.messages.slice(-1), requestId });
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${this.is.url}/stream`, { method: 'POST', headers, body });
      this.read(await response.text());
      isAsked = (this.current?.parts ?? []).filter((part) => this.answer(part)).length > 0;
    }
  }

  private request(type: string, data: Fields): void {
    const requestId = crypto.randomUUID();
    const frame = JSON.stringify({ type, version: '1.0', data: { ...data, requestId } });
    this.requests.set(requestId, frame);
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(frame);
  }

  private read(text: string): void {
    for (const block of text.split('\n\n')) {
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data === '[DONE]') this.dones++;
      else if (data !== undefined) this.take(JSON.parse(data));
      this.last = /^id: (.*)$/m.exec(block)?.[1] ?? this.last;
    }
  }

  private take(chunk: Chunk): void {
    const { type, toolCallId, data, id } = chunk;
    const callId = toolCallId ?? data?.toolCallId;
    const parts = this.messages.flatMap((message) => message.parts);
    const call = parts.find((part) => callId !== undefined && part.toolCallId === callId);
    if (type === 'data-session') {
      this.session = data;
      for (const { requestId } of data.received as Fields[]) this.requests.delete(requestId);
      for (const frame of this.requests.values()) this.socket?.send(frame);
    } else if (type === 'data-accepted' || type === 'data-error') {
      this.requests.delete(data.requestId);
      if (type === 'data-error') this.errors.push(data);
    } else if (type === 'data-floor') this.session.floor = data.connectionId;
    else if (type === 'data-reset') this.messages = data.messages as Message[];
    else if (type === 'data-message') {
      const { message } = data as { message: Message };
      if (!this.messages.some(({ id: known }) => known === message.id)) this.messages.push(message);
    } else if (type === 'start') {
      const known = this.messages.find((message) => message.id === chunk.messageId);
      this.current = known ?? newMessage(String(chunk.messageId), 'assistant', []);
      if (!known) this.messages.push(this.current);
    } else if (type === 'text-start' || type === 'reasoning-start') {
      this.blocks.set(id, this.add({ type: type.slice(0, -'-start'.length), text: '' }));
    } else if (type === 'text-delta' || type === 'reasoning-delta') {
      (this.blocks.get(id) ?? { text: '' }).text += String(chunk.delta);
    } else if (type === 'tool-input-start') {
      const { toolName, toolMetadata } = chunk;
      this.add({ type: `tool-${toolName}`, toolCallId, state: 'input-streaming', toolMetadata } as Part);
    } else if (type === 'file') this.add({ type, url: chunk.url, mediaType: chunk.mediaType });
    else if (call && CALLS[type]) {
      Object.assign(call, CALLS[type](chunk));
      if (this.socket) this.answer(call);
    }
    if (this.current) Object.assign(this.current.metadata, chunk.messageMetadata);
  }

  /** Answers a call that waits for the person or the browser (T2); false when it does not. Posts carry the answer on its part. */
  private answer(part: Part): boolean {
    const { toolCallId = '', state, approval } = part;
    const { runsOn, asks } = (part.toolMetadata ?? {}) as Fields;
    const isAsked = state === 'approval-requested';
    const isDue = isAsked || (state === 'input-available' && runsOn === 'client' && !asks);
    const isWatching = this.socket && this.session.floor !== this.session.connectionId;
    if (!isDue || isWatching || this.answered.has(toolCallId)) return false;
    this.answered.add(toolCallId);
    const decision = isAsked ? this.is.person.decide(toolCallId) : { approved: true };
    const status = isAsked ? { status: decision.approved ? 'approved' : 'rejected' } : {};
    const hasOutput = decision.approved && runsOn === 'client';
    const output = hasOutput ? this.is.person.run(part.type.slice('tool-'.length)) : undefined;
    const decided = { state: 'approval-responded', approval: { ...(approval as Fields), ...decision } };
    if (isAsked) Object.assign(part, decided);
    if (this.socket) this.request('tool_result', { toolCallId, result: output, ...decision, ...status });
    else if (hasOutput) Object.assign(part, { state: 'output-available', output });
    return true;
  }

  private add(part: Part): Part {
    this.current?.parts.push(part);
    return part;
  }
}
