import { type Chunk, type ErrorCode, type Message, MessageFold, ProtocolError } from '../protocol/index.ts';
import { ownDataNameFault } from '../protocol/own-data.ts';
import type { Duologue } from '../server/index.ts';
import { BidiLink, SseLink, type TestLink } from './test-link.ts';
import {
  answering,
  approvalOf,
  isFor,
  isPaused,
  nameOf,
  type TestApproval,
  type TestTurn,
  type ToolPart,
  toolPartsOf,
  turnOf,
} from './test-turn.ts';

/** Options of a test client: its transport, its session, and its browser tools. */
export interface TestClientOptions {
  /** The transport: SSE unless given. */
  over?: 'sse' | 'bidi';
  /** The id of the session; a new session unless given. Two clients with the same id are two pages of one session. */
  session?: string;
  /** Headers of every request, e.g. those that `authenticate` reads. */
  headers?: Record<string, string>;
  /**
   * The address of the server, with its `basePath`; `http://localhost` unless given. No connection is made to it: the client calls the server object
   * directly.
   */
  url?: string;
  /** The browser tools of this page, by name. A call of another browser tool waits for `answer`. */
  tools?: Record<string, (input: unknown) => unknown>;
}

/** What a page sends besides the text of a message. */
export interface TestMessageOptions {
  /** The files of the message, as `sendMessage` of `useChat` sends them: each with its content as a data URL. */
  files?: readonly { type: 'file'; mediaType: string; url: string; filename?: string }[];
  /** The metadata of the message. Tools find it in `context.metadata`. */
  metadata?: Record<string, unknown>;
  /** Fields that the page adds to the body of the request. Tools find those that the option `toolRequest` names in `context.request`. */
  body?: Record<string, unknown>;
}

/** A request that was sent, and the message that answers it. */
interface Sent {
  requestId: string;
  /** The message that the turn writes to, once it is known. */
  messageId: string | null;
}

/**
 * A page without a browser: it talks to a server in the same process, without a network, and reads whole turns. Text, tool calls and
 * approval requests are those that `useChat` would show.
 *
 * @example
 * const chat = testClient(duologue);
 * const turn = await chat.say('Pay Alice 5 euros');
 * expect(turn.approvals).toMatchObject([{ toolName: 'pay', input: { amount: 5 } }]);
 * expect((await chat.approve()).text).toBe('Paid.');
 */
export function testClient(duologue: Duologue, options: TestClientOptions = {}): TestClient {
  return new TestClient(duologue, options);
}

/** A page of a session; see `testClient`. */
export class TestClient {
  /** The id of the session. */
  readonly session: string;
  readonly #link: TestLink;
  readonly #tools: NonNullable<TestClientOptions['tools']>;
  readonly #folds = new Map<string, MessageFold>();
  /** The chunks that the client received, in order, without transient ones. Null is the end of a response or a turn. */
  readonly #received: (Chunk | null)[] = [];
  /** Transient data of tools that no turn has yet. `at`: how many entries `#received` had when it arrived. */
  #transientData: { at: number; chunk: Chunk }[] = [];
  /** How many entries of `#received` have been returned to the test as turns. */
  #read = 0;
  readonly #accepted = new Map<string, string | null>();
  readonly #refused = new Map<string, Error>();
  readonly #waiting = new Set<() => void>();
  #current: MessageFold | null = null;
  #opening: Promise<void> | null = null;
  #ended: Error | null = null;

  constructor(duologue: Duologue, options: TestClientOptions) {
    const { over = 'sse', session = `test-${crypto.randomUUID()}`, headers = {}, tools = {} } = options;
    const url = (options.url ?? 'http://localhost').replace(/\/$/, '');
    this.session = session;
    this.#tools = tools;
    const place = { duologue, session, url, headers };
    this.#link = over === 'bidi' ? new BidiLink(place) : new SseLink(place);
  }

  /** The messages of the conversation, as far as this page has seen them. */
  get messages(): Message[] {
    return structuredClone([...this.#folds.values()].map(({ message }) => message));
  }

  /** The approval requests that wait for a decision. */
  get approvals(): TestApproval[] {
    return this.#calls.flatMap(({ part }) => approvalOf(part) ?? []);
  }

  /** Connects, so that this page also receives changes that other pages make in the session. The methods that send or read call it themselves. */
  open(): Promise<void> {
    this.#opening ??= this.#link.open({
      received: (chunks) => {
        for (const chunk of chunks) this.#receive(chunk);
        this.#notify();
      },
      closed: (why) => {
        this.#ended = why;
        this.#notify();
      },
    });
    return this.#opening;
  }

  /** Sends a user message, and reads until the turn ends, or waits for the user or the browser. Rejects when the server refuses the message. */
  say(text: string, { files = [], metadata, body }: TestMessageOptions = {}): Promise<TestTurn> {
    const parts = [...files, { type: 'text', text }];
    const message = { id: crypto.randomUUID(), role: 'user', parts, ...(metadata && { metadata }) };
    return this.#turn(message as Message, () => undefined, body);
  }

  /**
   * Approves the approval requests that wait: all of them, or those of a tool. If several messages have such requests, only those of the first message are
   * approved. Reads until the turn ends or waits again.
   */
  approve(toolName?: string): Promise<TestTurn> {
    return this.#decide(true, toolName);
  }

  /** Denies the approval requests that wait, by the same rules as `approve`. */
  deny({ reason, toolName }: { reason?: string; toolName?: string } = {}): Promise<TestTurn> {
    return this.#decide(false, toolName, reason);
  }

  /** Answers a call that runs in the browser, or a call of a long-running tool. Reads until the turn ends or waits again. */
  async answer(toolCallId: string, output: unknown): Promise<TestTurn> {
    const call = this.#calls.find(({ part }) => part.toolCallId === toolCallId);
    if (!call) {
      const ids = this.#calls.map(({ part }) => part.toolCallId).join(', ') || 'none';
      throw new Error(`This page shows no call ${toolCallId} (calls that it shows: ${ids}).`);
    }
    return this.#turn(answering(call.message, [{ ...call.part, state: 'output-available', output }]));
  }

  /** Stops the agent, and reads the end of the turn. */
  async stop(): Promise<TestTurn> {
    await this.open();
    await this.#link.interrupt(crypto.randomUUID());
    return this.next();
  }

  /**
   * Reads the next turn that this page did not request: another page or the application started it, or a timer continued it. Resolves when the turn ends, or
   * waits for the user or the browser.
   */
  async next(): Promise<TestTurn> {
    await this.open();
    const from = this.#read;
    await this.#until(() => this.#received.slice(from).includes(null) || this.#isPaused(from));
    return this.#take(from);
  }

  /** Disconnects, like a page that the user closes. */
  close(): void {
    this.#ended ??= new Error('The test client was closed.');
    this.#link.close();
    this.#notify();
  }

  get #calls(): { message: Message; part: ToolPart }[] {
    return [...this.#folds.values()].flatMap(({ message }) =>
      toolPartsOf(message).map((part) => ({ message, part })),
    );
  }

  async #decide(approved: boolean, toolName?: string, reason?: string): Promise<TestTurn> {
    const waiting = this.approvals;
    const meant = waiting.filter((one) => toolName === undefined || one.toolName === toolName);
    if (meant.length === 0) {
      const names = waiting.map((one) => one.toolName).join(', ') || 'none';
      throw new Error(
        `No approval request ${toolName ? `of ${toolName} ` : ''}waits for a decision (waiting: ${names}).`,
      );
    }
    const ids = new Set(meant.map(({ toolCallId }) => toolCallId));
    const calls = this.#calls.filter(({ part }) => ids.has(part.toolCallId));
    // One request can only answer calls of one message. So decide all approval requests of the first message, and leave the others waiting.
    const [first] = calls;
    if (!first) throw new Error('No approval request waits for a decision.');
    const decided = calls
      .filter(({ message }) => message === first.message)
      .map(({ part }) => ({
        ...part,
        state: 'approval-responded' as const,
        approval: { ...part.approval, id: part.approval?.id ?? '', approved, ...(reason && { reason }) },
      }));
    const decide = () => {
      for (const { toolCallId } of decided)
        this.#folds.get(first.message.id)?.decide(toolCallId, approved, reason);
    };
    return this.#turn(answering(first.message, decided), decide);
  }

  /** Sends a message and reads until the turn ends or waits. Calls of this page's tools do not end the reading: their tools run, and the outputs are sent. */
  async #turn(
    message: Message,
    onAccepted: () => void = () => undefined,
    body: Record<string, unknown> = {},
  ): Promise<TestTurn> {
    await this.open();
    const from = this.#received.length;
    if (message.role === 'user') this.#folds.set(message.id, new MessageFold(message));
    let start = from;
    let sent = await this.#send(message, onAccepted, body);
    for (;;) {
      await this.#until(() => this.#isOver(start, sent));
      const answers = await this.#runTools();
      if (!answers) return this.#take(from);
      start = this.#received.length;
      sent = await this.#send(answers);
    }
  }

  async #send(
    message: Message,
    onAccepted: () => void = () => undefined,
    body: Record<string, unknown> = {},
  ): Promise<Sent> {
    const requestId = crypto.randomUUID();
    await this.#link.send({ ...body, messages: [message], requestId });
    await this.#until(() => this.#accepted.has(requestId) || this.#refused.has(requestId));
    const refused = this.#refused.get(requestId);
    if (refused) throw refused;
    onAccepted();
    const answeredIn = this.#accepted.get(requestId) ?? null;
    return { requestId, messageId: message.role === 'assistant' ? message.id : answeredIn };
  }

  /**
   * Runs the browser tools of this page that wait to run, for the first message with such calls. Returns their outputs as a message; null when no call
   * waits for this page.
   */
  async #runTools(): Promise<Message | null> {
    const called = this.#calls.filter(
      ({ part }) => isFor('client', part) && Object.hasOwn(this.#tools, nameOf(part)),
    );
    const [first] = called;
    if (!first) return null;
    const parts: ToolPart[] = [];
    for (const { message, part } of called) {
      if (message !== first.message) continue;
      try {
        const output = (await this.#tools[nameOf(part)]?.(part.input)) ?? null;
        parts.push({ ...part, state: 'output-available', output });
      } catch (error) {
        const errorText = error instanceof Error ? error.message : String(error);
        parts.push({ ...part, state: 'output-error', errorText });
      }
    }
    return answering(first.message, parts);
  }

  /** Whether the turn that answers a request is over, or waits for the user or the browser. */
  #isOver(from: number, { messageId }: Sent): boolean {
    const since = this.#received.slice(from);
    const start = since.findIndex((chunk) => chunk?.type === 'start' && chunk.messageId === messageId);
    // Over BIDI, the server continues a message after an answer without a new `start` chunk.
    const first = start >= 0 ? start : this.#link.isBidi ? 0 : Number.POSITIVE_INFINITY;
    if (since.slice(first).includes(null)) return true;
    const fold = messageId === null ? undefined : this.#folds.get(messageId);
    return this.#link.isBidi && fold !== undefined && isPaused(fold);
  }

  /** Whether chunks of a turn arrived after the first `from` entries, and that turn now waits for the user or the browser. */
  #isPaused(from: number): boolean {
    // The `finish-step` chunk after an approval request may arrive in a later frame than the request. It alone is not a new turn.
    const isNew = this.#received.slice(from).some((chunk) => chunk && chunk.type !== 'finish-step');
    return this.#link.isBidi && isNew && this.#current !== null && isPaused(this.#current);
  }

  #take(from: number): TestTurn {
    const chunks = this.#received.slice(from).filter((chunk) => chunk !== null);
    this.#read = this.#received.length;
    const transientData = this.#transientData.flatMap(({ at, chunk }) => (at >= from ? [chunk] : []));
    this.#transientData = [];
    return turnOf(
      chunks,
      transientData,
      this.#calls.map(({ part }) => part),
    );
  }

  #receive(chunk: Chunk | null): void {
    if (chunk && 'transient' in chunk && chunk.transient) return this.#receiveTransient(chunk);
    this.#received.push(chunk);
    if (!chunk) return;
    if (chunk.type === 'start' && chunk.messageId !== undefined)
      this.#current = this.#foldOf(chunk.messageId);
    // Over BIDI, step chunks only surround approval requests, and are not part of the message.
    if (this.#link.isBidi && (chunk.type === 'start-step' || chunk.type === 'finish-step')) return;
    this.#current?.push(chunk);
  }

  #receiveTransient(chunk: Chunk): void {
    switch (chunk.type) {
      case 'data-accepted':
        this.#accepted.set(chunk.data.requestId, chunk.data.messageId ?? null);
        return;
      case 'data-error': {
        const { code, message, requestId, retryAfterMs } = chunk.data;
        const error = new ProtocolError(code as ErrorCode, message, { requestId, retryAfterMs });
        if (requestId !== undefined) this.#refused.set(requestId, error);
        return;
      }
      case 'data-message':
        // The server also sends this page the user message that the page itself sent, in its stored form.
        this.#folds.set(chunk.data.message.id, new MessageFold(structuredClone(chunk.data.message)));
        return;
      case 'data-decided':
        this.#folds
          .get(chunk.data.messageId)
          ?.decide(chunk.data.toolCallId, chunk.data.approved, chunk.data.reason);
        return;
      case 'data-settled': {
        const { messageId, toolCallId, errorText } = chunk.data;
        this.#folds.get(messageId)?.push({ type: 'tool-output-error', toolCallId, errorText });
        return;
      }
      case 'data-rewind': {
        const ids = [...this.#folds.keys()];
        const at = ids.indexOf(chunk.data.messageId);
        if (at >= 0) for (const id of ids.slice(at)) this.#folds.delete(id);
        return;
      }
      case 'data-reset':
        this.#folds.clear();
        for (const message of chunk.data.messages)
          this.#folds.set(message.id, new MessageFold(structuredClone(message)));
        return;
      default:
        // Any other name of data is that of an application.
        if (chunk.type.startsWith('data-') && ownDataNameFault(chunk.type.slice('data-'.length)) === null)
          this.#transientData.push({ at: this.#received.length, chunk });
    }
  }

  #foldOf(id: string): MessageFold {
    const known = this.#folds.get(id) ?? new MessageFold({ id, role: 'assistant', parts: [] });
    this.#folds.set(id, known);
    return known;
  }

  #until(condition: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const isMet = condition();
        if (!isMet && !this.#ended) return;
        this.#waiting.delete(look);
        if (isMet) resolve();
        else reject(this.#ended);
      };
      this.#waiting.add(look);
      look();
    });
  }

  #notify(): void {
    for (const look of [...this.#waiting]) look();
  }
}
