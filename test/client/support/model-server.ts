import {
  type AcceptedRequest,
  answersIn,
  type Chunk,
  DONE,
  denialText,
  encodeBlock,
  type Message,
  MessageFold,
  OUTCOME_UNKNOWN,
  parseChunkId,
  type ToolFacts,
  type WaitingAnswer,
} from '../../../src/protocol/index.ts';
import {
  announce,
  ask,
  type ClientFrame,
  type FakeSocket,
  LOCATE,
  MUSIC,
  PAY,
  type SocketServer,
  socketOf,
  WEATHER,
} from './server.ts';

interface Call extends ToolFacts {
  id: string;
  state: 'waits' | 'approved';
}

interface Turn {
  id: string;
  fold: MessageFold;
  blocks: Set<string>;
  calls: Map<string, Call>;
  /** The index of its first chunk in the log; null when the log of that process is lost. */
  from: number | null;
  /** The message at the last pause. HTTP returns this version; clients receive the rest in chunks. */
  saved: Message | null;
  /** The last stored draft, which survives a crash. */
  draft: Message | null;
}

const TOOLS: [string, ToolFacts][] = [
  ['weather', WEATHER],
  ['pay', PAY],
  ['music', MUSIC],
  ['locate', LOCATE],
];

/**
 * A model of one session of a server that follows PROTOCOL.md: the stored messages are the fold of the sent chunks. A
 * test chooses each next step by a number.
 */
export class ModelServer implements SocketServer {
  readonly sockets: FakeSocket[] = [];
  accepts = true;
  /** The stored messages. */
  messages: Message[] = [];
  /** Loses the next frame from a client, with its socket. */
  losesNext = false;
  /** The accepted user messages; a message accepted twice is listed twice. */
  readonly taken: string[] = [];
  /** The answers that a crash cut off, or lost. */
  readonly cutOff = new Set<string>();
  readonly WebSocket = socketOf(this);
  private log: (Chunk | null)[] = [];
  private epoch = 1;
  private readonly written = new Map<FakeSocket, number>();
  private readonly accepted = new Map<string, AcceptedRequest>();
  private queue: { message: Message; answerId: string }[] = [];
  private turns = new Map<string, Turn>();
  /** The turn to which the next chunks belong. */
  private current: Turn | null = null;
  private count = 0;
  /** The connection that runs browser tools. */
  private floor: FakeSocket | null = null;

  /** The HTTP side, as far as a page reads it. */
  readonly fetch: typeof fetch = async (url) => {
    const { pathname } = new URL(String(url));
    if (!pathname.endsWith('/sessions/chat')) return new Response(null, { status: 404 });
    return Response.json({
      id: 'chat',
      messages: this.messages,
      older: null,
      isRunning: this.turns.size > 0,
    });
  };

  get socket(): FakeSocket | undefined {
    return this.sockets.findLast((socket) => socket.isOpen);
  }

  /** Whether the server has nothing to send until a client sends a message or an answer. */
  get isAtRest(): boolean {
    return this.queue.length === 0 && [...this.turns.values()].every((turn) => this.waits(turn));
  }

  /** Whether a user message is queued: a page that is loaded now does not receive it yet. */
  get hasQueue(): boolean {
    return this.queue.length > 0;
  }

  /** Whether a page loaded now receives everything: at most one answer is streaming, it started in this process, and no other message started since. */
  get isReplayable(): boolean {
    return [...this.turns.values()].every((turn) => {
      if (turn.from === null) return this.waits(turn);
      return this.log
        .slice(turn.from)
        .every((chunk) => chunk?.type !== 'start' || chunk.messageId === turn.id);
    });
  }

  /** Whether no turn runs and no message is queued. */
  get isOver(): boolean {
    return this.queue.length === 0 && this.turns.size === 0;
  }

  /** Performs the next step; `pick` chooses which. */
  act(pick: number): void {
    const speaking = [...this.turns.values()].find((turn) => !this.waits(turn));
    if (!speaking) {
      const asked = this.queue.shift();
      if (asked) this.begin(asked.message, asked.answerId);
      return;
    }
    this.turnTo(speaking);
    const options = this.options(speaking, pick);
    options[pick % options.length]?.();
    if (pick % 3 === 0) speaking.draft = structuredClone(speaking.fold.message);
  }

  /** The process crashes and restarts: the log is lost, and unfinished messages are restored from their drafts. */
  crash(): void {
    for (const turn of [...this.turns.values()]) {
      if (this.waits(turn)) continue;
      this.turns.delete(turn.id);
      this.cutOff.add(turn.id);
      const index = this.messages.findIndex(({ id }) => id === turn.id);
      if (!turn.draft) this.messages.splice(index, 1);
      else this.messages[index] = interrupted(turn.draft);
    }
    this.epoch++;
    this.log = [];
    for (const turn of this.turns.values()) turn.from = null;
    this.current = null;
    for (const socket of this.sockets) socket.end(1006);
  }

  greet(socket: FakeSocket): void {
    if (!socket.isOpen) return;
    socket.isGreeted = false;
    this.greetNow(socket);
    socket.isGreeted = true;
    socket.arrive();
  }

  private greetNow(socket: FakeSocket): void {
    if (!this.floor?.isOpen) this.floor = socket;
    const { searchParams } = new URL(socket.url);
    const last = parseChunkId(searchParams.get('last') ?? '');
    const resumed = last?.epoch === String(this.epoch);
    const running = this.current;
    const isNew = !searchParams.has('last');
    const seq = resumed ? last.seq : ((isNew ? running?.from : undefined) ?? this.log.length);
    socket.deliver(
      encodeBlock(
        {
          type: 'data-session',
          data: {
            sessionId: 'chat',
            connectionId: this.nameOf(socket),
            epoch: String(this.epoch),
            resumed,
            newest: `${this.epoch}-${this.log.length}`,
            received: [...this.accepted.values()],
            open: this.waiting(),
            running: this.running(),
            model: { hears: false, sees: false, speaks: false },
            floor: this.floor ? this.nameOf(this.floor) : null,
          },
          transient: true,
        },
        `${this.epoch}-${seq}`,
      ),
    );
    if (!isNew && !resumed) {
      const messages = this.messages.map((message) => this.withoutOpen(message));
      socket.deliver(encodeBlock({ type: 'data-reset', data: { messages }, transient: true }));
      if (running) this.repeatOpen(running, socket);
    }
    // The following chunks belong to a message whose first chunks were lost with the log.
    if (isNew && running?.from === null) this.repeatOpen(running, socket);
    if (isNew) socket.deliver(this.blocks(seq, true).join(''));
    this.written.set(socket, isNew ? this.log.length : seq);
    this.flush();
  }

  receive({ type, data }: ClientFrame, socket: FakeSocket): void {
    if (type === 'ping') {
      socket.deliver(JSON.stringify({ type: 'pong', timestamp: data.timestamp }));
      return;
    }
    if (this.losesNext) {
      this.losesNext = false;
      socket.end(1006);
      return;
    }
    const requestId = String(data.requestId);
    const before = this.accepted.get(requestId);
    const [message] = (data.messages ?? []) as Message[];
    const messageId = message?.role === 'user' ? `a${++this.count}` : undefined;
    const accepted = before ?? { requestId, ...(messageId === undefined ? {} : { messageId }) };
    this.accepted.set(requestId, accepted);
    socket.deliver(encodeBlock({ type: 'data-accepted', data: accepted, transient: true }));
    if (before) return;
    if (message?.role === 'user') this.moveActive(socket);
    if (message && messageId !== undefined)
      this.say(message, messageId, data.trigger === 'regenerate-message');
    else if (type === 'tool_result') {
      const { toolCallId, status, result, reason } = data as Record<string, string>;
      if (status) this.decide(String(toolCallId), status === 'approved', reason, socket);
      else this.settle(String(toolCallId), result);
    } else if (message) this.hear(message, socket);
  }

  private hear(message: Message, from: FakeSocket): void {
    for (const answer of answersIn(message.parts)) {
      if (answer.kind === 'decision') this.decide(answer.toolCallId, answer.approved, answer.reason, from);
      else this.settle(answer.toolCallId, answer.kind === 'output' ? answer.output : answer.errorText);
    }
  }

  private say(message: Message, answerId: string, isAgain: boolean): void {
    if (!isAgain) this.taken.push(message.id);
    this.queue.push({ message, answerId });
  }

  private begin(asked: Message, id: string): void {
    const at = this.messages.findIndex(({ id }) => id === asked.id);
    if (at !== -1) {
      this.messages = this.messages.slice(0, at);
      this.announce({ type: 'data-rewind', data: { messageId: asked.id }, transient: true });
    }
    this.messages.push(asked);
    this.announce({ type: 'data-message', data: { message: asked }, transient: true });
    const message: Message = { id, role: 'assistant', parts: [] };
    this.messages.push(message);
    const turn: Turn = {
      id,
      fold: new MessageFold(message),
      blocks: new Set(),
      calls: new Map(),
      from: this.log.length,
      saved: null,
      draft: null,
    };
    this.turns.set(id, turn);
    this.turnTo(turn);
  }

  private options(turn: Turn, pick: number): (() => void)[] {
    const id = `b${this.count}`;
    const begin = () => {
      this.count++;
      turn.blocks.add(id);
      this.tell(turn, { type: 'text-start', id }, { type: 'text-delta', id, delta: 'One ' });
    };
    return [
      // An agent streams one block at a time.
      ...(turn.blocks.size === 0 ? [begin] : []),
      ...[...turn.blocks].flatMap((id) => [
        () => this.tell(turn, { type: 'text-delta', id, delta: `${pick} ` }),
        () => this.tell(turn, { type: 'text-delta', id, delta: 'and ' }),
        () => this.endBlock(turn, id),
      ]),
      () => this.call(turn, TOOLS[pick % TOOLS.length] ?? ['weather', WEATHER]),
      () => this.finish(turn),
    ];
  }

  private call(turn: Turn, [name, facts]: [string, ToolFacts]): void {
    this.endBlocks(turn);
    const id = `${name}-${++this.count}`;
    this.tell(turn, ...announce(id, name, { n: this.count }, facts));
    if (!facts.asks && facts.runsOn === 'server') {
      this.tell(turn, { type: 'tool-output-available', toolCallId: id, output: this.count });
      return;
    }
    turn.calls.set(id, { id, ...facts, state: facts.asks ? 'waits' : 'approved' });
    if (facts.asks) this.tell(turn, ...ask(id));
    turn.saved = structuredClone(turn.fold.message);
  }

  private decide(toolCallId: string, approved: boolean, reason?: string, from?: FakeSocket): void {
    const turn = [...this.turns.values()].find(({ calls }) => calls.has(toolCallId));
    const call = turn?.calls.get(toolCallId);
    if (!turn || call?.state !== 'waits') return;
    // The tool runs in the browser that approved it.
    if (approved && call.runsOn === 'client' && from) this.moveActive(from);
    turn.fold.decide(toolCallId, approved, reason);
    const { id: messageId } = turn;
    const by = 'somebody';
    const reported = { toolCallId, messageId, approved, by, ...(reason ? { reason } : {}) };
    this.announce({ type: 'data-decided', data: reported, transient: true });
    call.state = 'approved';
    if (!approved) this.end(turn, call, { errorText: denialText(reason) });
    else if (call.runsOn === 'server') this.end(turn, call, { output: 'done' });
  }

  /** The output of a browser tool. */
  private settle(toolCallId: string, output: unknown): void {
    const turn = [...this.turns.values()].find(({ calls }) => calls.has(toolCallId));
    const call = turn?.calls.get(toolCallId);
    if (turn && call?.state === 'approved' && call.runsOn === 'client') this.end(turn, call, { output });
  }

  private end(turn: Turn, { id: toolCallId }: Call, how: { output: unknown } | { errorText: string }): void {
    const before = this.current;
    turn.calls.delete(toolCallId);
    this.turnTo(turn);
    this.tell(
      turn,
      'output' in how
        ? { type: 'tool-output-available', toolCallId, output: how.output }
        : { type: 'tool-output-error', toolCallId, errorText: how.errorText },
    );
    if (before && before !== turn && this.turns.has(before.id)) this.turnTo(before);
  }

  private finish(turn: Turn): void {
    this.endBlocks(turn);
    this.tell(turn, { type: 'finish', finishReason: 'stop', messageMetadata: { rawFinishReason: turn.id } });
    this.turns.delete(turn.id);
    this.current = null;
    this.log.push(null);
    this.flush();
  }

  private waiting(): WaitingAnswer[] {
    return [...this.turns.values()].flatMap(({ id: messageId, calls }) =>
      [...calls.values()].map(({ id: toolCallId, state }) => ({
        toolCallId,
        messageId,
        waitsFor: state === 'waits' ? ('person' as const) : ('client' as const),
      })),
    );
  }

  private running(): string | null {
    const speaking = [...this.turns.values()].find((turn) => !this.waits(turn));
    return speaking?.id ?? this.queue[0]?.answerId ?? null;
  }

  private nameOf(socket: FakeSocket): string {
    return `c${this.sockets.indexOf(socket)}`;
  }

  private moveActive(socket: FakeSocket): void {
    if (this.floor === socket) return;
    this.floor = socket;
    this.announce({ type: 'data-floor', data: { connectionId: this.nameOf(socket) }, transient: true });
  }

  /** Sends all connections what one page did. */
  private announce(chunk: Chunk): void {
    this.log.push(chunk);
    this.flush();
  }

  private waits({ calls }: Turn): boolean {
    return calls.size > 0;
  }

  /** Chunks belong to this message from now on. */
  private turnTo(turn: Turn): void {
    if (this.current === turn) return;
    if (this.current) for (const id of this.current.blocks) this.endBlock(this.current, id);
    this.current = turn;
    this.tell(turn, { type: 'start', messageId: turn.id });
  }

  private endBlocks(turn: Turn): void {
    for (const id of turn.blocks) this.endBlock(turn, id);
  }

  private endBlock(turn: Turn, id: string): void {
    turn.blocks.delete(id);
    this.tell(turn, { type: 'text-end', id });
  }

  private tell(turn: Turn, ...chunks: Chunk[]): void {
    for (const chunk of chunks) {
      if (chunk.type !== 'start-step' && chunk.type !== 'finish-step') turn.fold.push(structuredClone(chunk));
      this.log.push(chunk);
    }
    this.flush();
  }

  /** The chunks after a reset: the draft, and its open blocks from their first delta on. */
  private repeatOpen(turn: Turn, socket: FakeSocket): void {
    const blocks = turn.fold.openBlocks.flatMap(({ id, part }): Chunk[] => [
      { type: 'text-start', id },
      { type: 'text-delta', id, delta: part.text },
    ]);
    const chunks: Chunk[] = [{ type: 'start', messageId: turn.id }, ...blocks];
    socket.deliver(chunks.map((chunk) => encodeBlock(chunk)).join(''));
  }

  /** A message without the blocks that are open, which come in chunks. */
  private withoutOpen(message: Message): Message {
    const open = this.turns.get(message.id)?.fold.openBlocks.map(({ part }) => part as unknown) ?? [];
    return { ...message, parts: message.parts.filter((part) => !open.includes(part)) };
  }

  private flush(): void {
    for (const socket of this.sockets) {
      const from = this.written.get(socket);
      if (!socket.isOpen || from === undefined || from >= this.log.length) continue;
      this.written.set(socket, this.log.length);
      socket.deliver(this.blocks(from).join(''));
    }
  }

  /** The log from an index on. A replay for a new page leaves out decided approval requests with their steps. */
  private blocks(from: number, isRepeated = false): string[] {
    const isDecided = (chunk: Chunk | null | undefined) =>
      isRepeated && chunk?.type === 'tool-approval-request' && !this.isUndecided(chunk.toolCallId);
    return this.log.slice(from).flatMap((chunk, index) => {
      if (chunk === null) return [DONE];
      const at = from + index;
      const around =
        chunk.type === 'start-step'
          ? this.log[at + 1]
          : chunk.type === 'finish-step'
            ? this.log[at - 1]
            : chunk;
      return isDecided(around) ? [] : [encodeBlock(chunk, `${this.epoch}-${at + 1}`)];
    });
  }

  private isUndecided(toolCallId: string): boolean {
    return [...this.turns.values()].some(({ calls }) => calls.get(toolCallId)?.state === 'waits');
  }
}

/** A message that was cut off when its process crashed. */
function interrupted(draft: Message): Message {
  const fold = new MessageFold(draft);
  for (const { id } of fold.openBlocks) fold.push({ type: 'text-end', id });
  for (const part of draft.parts) {
    if ('state' in part && part.state === 'streaming') part.state = 'done';
    if (!('toolCallId' in part) || part.state === 'output-available' || part.state === 'output-error')
      continue;
    fold.push({ type: 'tool-output-error', toolCallId: part.toolCallId, errorText: OUTCOME_UNKNOWN });
  }
  draft.metadata = { ...draft.metadata, interrupted: true, cutOff: true };
  return draft;
}
