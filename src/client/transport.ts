import type { ChatTransport, UIMessage, UIMessageChunk } from 'ai';
import type { Chunk } from '../protocol/chunks.ts';
import { ProtocolError } from '../protocol/errors.ts';
import { checkOptions, is, type OptionChecks, objectOf, withFunction } from '../protocol/options.ts';
import { hasOutcome } from '../protocol/tool-call.ts';
import { asPart, BrowserTools } from './browser-tools.ts';
import { type ExecutorOption, type ExecutorOptions, type ExecutorResult, ToolRunner } from './executors.ts';
import type { HttpOptions } from './http.ts';
import {
  Connection,
  type ConnectionOptions,
  endOf,
  httpLinks,
  type LinkKind,
  type Played,
  type WebSocketLinkOptions,
  webSocketLinks,
} from './link/index.ts';
import { systemTimers, type Timers } from './platform.ts';
import { type OpenResponse, Receiver, type ReceiverOptions } from './receiver.ts';
import { CONTINUE, Requests } from './requests.ts';
import { type Pending, Responses } from './responses/index.ts';
import { callsOfLastStep, unsentAnswers, unsentOutputs } from './resume.ts';
import { type AnswerMemory, ToolCalls } from './tool-calls.ts';

/** Options of every transport. */
export interface TransportOptions extends ExecutorOptions, ReceiverOptions, ConnectionOptions {
  /** The id of the session. Default: the id of the chat. */
  sessionId?: string | undefined;
  /**
   * What `stop()` of the chat does: it interrupts the agent (default), or only detaches from the response while the agent continues.
   * `useChat` of `@ai-sdk/react` 4 also calls `stop()` when a component unmounts; with `detach` only `interrupt()` interrupts.
   */
  onAbort?: 'interrupt' | 'detach' | undefined;
  /** Creates ids for requests. Default: `crypto.randomUUID`. */
  newId?: (() => string) | undefined;
}

/** Options of the transport over WebSocket. */
export interface DuologueTransportOptions extends TransportOptions, WebSocketLinkOptions {
  /** A function that gets the options of the transport and returns the kind of link to use instead of a WebSocket. */
  link?: ((options: DuologueTransportOptions) => LinkKind) | undefined;
  /** Replaces the clock and the timers of the page, for tests. */
  timers?: Timers | undefined;
}

/** Options of the transport over HTTP. */
export interface DuologueSseTransportOptions extends TransportOptions, HttpOptions {}

/** The options of a transport, with the executors that the tools of the message type need. */
export type WithExecutors<Options, M extends UIMessage> = Omit<Options, 'executors'> &
  ExecutorOption<'executors', M>;

const text = is('a string');
const func = is('a function');
const bool = is('a boolean');
const count = is('a number that is not negative');

/**
 * What each option of a transport must be. Both transports accept the options of each other, because a page that changes between them gives both the
 * same options.
 */
export const TRANSPORT_CHECKS: OptionChecks<DuologueTransportOptions & DuologueSseTransportOptions> = {
  url: text,
  sessionId: text,
  key: is('a string or a function'),
  executors: objectOf('function'),
  executorTimeoutMs: count,
  onAbort: is('"interrupt" or "detach"'),
  mergeMs: count,
  onData: func,
  onPending: func,
  onActive: func,
  onReset: func,
  shows: func,
  headers: objectOf('string'),
  credentials: is('"omit", "same-origin" or "include"'),
  sharesStream: bool,
  watches: bool,
  onFrame: func,
  heartbeatMs: count,
  fetch: func,
  WebSocket: func,
  link: func,
  newId: func,
  timers: withFunction('after'),
  network: withFunction('onReturn'),
};

/** How many milliseconds `reconnectToStream` waits for the chunks of the message that the agent is writing. */
const UNREAD_MS = 2_000;

type SendOptions<M extends UIMessage> = Parameters<ChatTransport<M>['sendMessages']>[0];

/**
 * A `ChatTransport` for `useChat` over one WebSocket. A response outlives its socket, so the chat does not notice a reconnect. A transport belongs to
 * one chat: create one for each chat, and `close()` it.
 *
 * @example
 * const transport = new DuologueTransport({ url: '/duologue' });
 * const chat = useChat({ transport, sendAutomaticallyWhen: resumeWhen(transport) });
 */
export class DuologueTransport<M extends UIMessage = UIMessage> implements ChatTransport<M> {
  /** The connection to the server. Listen to it for its state and for sound. */
  readonly connection: Connection;
  readonly #options: DuologueTransportOptions;
  readonly #timers: Timers;
  readonly #calls: ToolCalls;
  readonly #requests: Requests;
  readonly #tools: BrowserTools;
  readonly #responses: Responses;
  readonly #receiver: Receiver;
  #resumes = 0;
  #chatId: string | null = null;

  constructor(given: WithExecutors<DuologueTransportOptions, M>) {
    const options = given as DuologueTransportOptions;
    checkOptions('The transport', TRANSPORT_CHECKS, { ...options, url: options?.url ?? null });
    const { link = webSocketLinks, timers = systemTimers, executors = {} } = options;
    const kind = link(options);
    this.#options = options;
    this.#timers = timers;
    this.connection = new Connection(kind, options);
    this.#calls = new ToolCalls(Object.keys(executors));
    this.#requests = new Requests(this.connection, options.newId ?? (() => crypto.randomUUID()));
    this.#tools = new BrowserTools(kind, this.#calls, this.#requests, new ToolRunner(options, timers));
    this.#responses = new Responses(this.#calls, options.shows);
    const { connection } = this;
    this.#receiver = new Receiver(
      {
        connection,
        calls: this.#calls,
        requests: this.#requests,
        tools: this.#tools,
        responses: this.#responses,
      },
      options,
    );
  }

  /** Which answers were sent, and which calls have an outcome. The resume rule (`resumeWhen`) reads it. */
  get memory(): AnswerMemory {
    return this.#calls;
  }

  /** Connects now. Without this call, the first message connects. With another chat id, the transport leaves the previous chat. */
  connect(chatId: string): void {
    this.connection.connect(this.#options.sessionId ?? chatId);
    if (this.#chatId !== null && this.#chatId !== chatId) this.#receiver.end();
    this.#chatId = chatId;
    this.#requests.setChat(chatId);
  }

  /** Sends the last user message, or the answers in the messages, and returns the response. Called by `useChat`. */
  async sendMessages(options: SendOptions<M>): Promise<ReadableStream<UIMessageChunk>> {
    const { chatId, messages, trigger, messageId, abortSignal } = options;
    this.#checkUsable(chatId);
    this.connect(chatId);
    const target = messages.find((message) => message.id === messageId) ?? messages.at(-1);
    const { number, readable } =
      trigger === 'submit-message' && target?.role === 'assistant'
        ? this.#continue(target, options)
        : this.#ask(options);
    abortSignal?.addEventListener('abort', () => {
      if (this.#receiver.leave(number) && !this.#requests.withdraw(number)) this.#abort();
    });
    return readable;
  }

  /**
   * Returns the response in progress of a message that this page has not read, for example after a reload or in a turn that the agent
   * started. Null when there is no such response. Called by `useChat`.
   */
  async reconnectToStream({
    chatId,
    abortSignal,
  }: Parameters<ChatTransport<M>['reconnectToStream']>[0]): Promise<ReadableStream<UIMessageChunk> | null> {
    this.#checkUsable(chatId);
    this.connect(chatId);
    const resume = ++this.#resumes;
    const messageId = await this.#waitForUnread(abortSignal);
    if (messageId === null || abortSignal?.aborted) return null;
    const { number, readable } = this.#receiver.read(messageId);
    abortSignal?.addEventListener('abort', () => {
      this.#receiver.leave(number);
      // `useChat` also aborts this response when it calls `reconnectToStream` again. That must not stop the agent.
      this.#timers.after(0, () => {
        if (this.#resumes === resume) this.#abort();
      });
    });
    return readable;
  }

  /** Resolves with true when the connection is live, and with false when it could not be opened or the signal aborted. */
  async untilConnected(signal: AbortSignal): Promise<boolean> {
    const { connection } = this;
    await connection.until(() => connection.state.status !== 'connecting', signal);
    return connection.state.status === 'live';
  }

  /** Sends the output of a browser tool. For a call of ADK's confirmation tool, `result` is `{confirmed: boolean}`. */
  sendToolResult(toolCallId: string, result: unknown): void {
    this.#tools.answer(toolCallId, { state: 'output-available', output: result ?? null });
  }

  /** Sends the failure of a browser tool. */
  sendToolError(toolCallId: string, errorText: string): void {
    this.#tools.answer(toolCallId, { state: 'output-error', errorText });
  }

  /**
   * Sends the answer to a question, or declines the question when `answer` has an `errorText`. Resolves when the server has accepted the answer. Rejects
   * when the server has rejected it, or when the connection has ended. After the error `answer_refused` the question is still open.
   */
  sendAnswer(toolCallId: string, answer: ExecutorResult): Promise<void> {
    return new Promise((resolve, reject) =>
      this.#tools.answer(toolCallId, asPart(answer), (error) => (error ? reject(error) : resolve())),
    );
  }

  /**
   * Sends a decision, even while the chat reads a response. Over HTTP, the approval of a browser tool is sent when the tool has run, with its output.
   * `payload`: what the tool gets with an approval.
   */
  sendDecision(toolCallId: string, approved: boolean, reason?: string, payload?: unknown): void {
    const id = this.#calls.get(toolCallId)?.approvalId ?? '';
    const approval = {
      id,
      approved,
      ...(reason === undefined ? {} : { reason }),
      ...(payload === undefined ? {} : { payload }),
    };
    this.#tools.answer(toolCallId, { state: 'approval-responded', approval });
    this.#tools.runDue();
  }

  /**
   * Stops the agent. The server ends the response that is being read. `played`: how much of the agent's sound the user heard; by
   * default the player of the connection stops and reports this.
   */
  interrupt(played: Played | undefined = this.connection.player?.silence()): void {
    this.#tools.cancelAll();
    this.#requests.interrupt(played);
  }

  /** Makes this page the active one. Sending a message and approving a browser tool do the same. */
  claim(): void {
    this.connection.send({ type: 'floor', data: {} });
  }

  /** The messages with chunks that no response has read, oldest first. */
  get pending(): Pending[] {
    return this.#responses.buffered;
  }

  /** Removes and returns the chunks of a message that no response has read, for a page that shows them without a response. */
  takePending(messageId: string): Chunk[] {
    return this.#responses.takeBuffered(messageId);
  }

  /** Whether the chat has read all chunks, and no more follow before the page sends something. */
  get isAtRest(): boolean {
    return this.#responses.isAtRest;
  }

  /** Whether the page may show messages in another order than the server has them. `resync()` repairs that. */
  get isOutOfOrder(): boolean {
    return this.#receiver.isOutOfOrder;
  }

  /** Asks the server for the newest messages of the conversation in the order of the server. They arrive with `onReset`. */
  resync(): void {
    this.#receiver.resync();
  }

  /**
   * Call it when the page has loaded these messages over HTTP. The transport then passes on later outcomes of their calls, although the chunks of
   * these calls never arrived.
   */
  load(messages: readonly M[]): void {
    this.#responses.load(messages);
  }

  /** Closes the connection. Responses that are being read fail. */
  close(): void {
    this.connection.close();
  }

  async #waitForUnread(signal: AbortSignal | undefined): Promise<string | null> {
    const { connection } = this;
    const responses = this.#responses;
    await connection.until(() => connection.state.status === 'live', signal);
    // Wait until the server has sent all earlier chunks. A chat that starts to read before that would show only the beginning of the message.
    const isComplete = () => responses.unread !== null && connection.isCaughtUp;
    if (this.#receiver.isRunning) await connection.until(isComplete, signal, UNREAD_MS);
    return responses.unread;
  }

  /** Sends the outputs of browser tools that were not sent yet, and then the last user message. */
  #ask(options: SendOptions<M>): OpenResponse {
    const { messages } = options;
    const message = messages.findLast(({ role }) => role === 'user');
    if (!message) throw new ProtocolError('empty_message', 'The chat has no user message to send.');
    for (const unsent of unsentOutputs(messages, this.#calls)) {
      this.#calls.markSent(unsent.answers);
      this.#requests.sendAnswers(unsent.message.id, unsent.answers, { extras: options });
    }
    const requestId = this.#requests.newId();
    const opened = this.#receiver.expect(requestId);
    try {
      this.#requests.sendMessage({ ...options, message }, requestId, opened.number);
    } catch (error) {
      this.#receiver.leave(opened.number);
      throw error;
    }
    return opened;
  }

  /** Sends the answers that were not sent yet, or asks the agent to continue `target` (`body: { trigger: 'continue-message' }`). */
  #continue(target: M, options: SendOptions<M>): OpenResponse {
    const { messages } = options;
    const last = messages.at(-1);
    const answered = messages.flatMap((message) => {
      const answers = unsentAnswers(message, this.#calls, message === target || message === last);
      return answers.length === 0 ? [] : [{ message, answers }];
    });
    const isTargetAnswered = answered.some(({ message }) => message === target);
    const repeats = isTargetAnswered ? [] : this.#calls.approvedWithoutOutput(target);
    const isAnswered = answered.length > 0 || repeats.length > 0;
    // When `useChat` sends answers automatically, it repeats the body of the last request, so the trigger may be that of an earlier request. If
    // there are answers, ignore the trigger.
    const continues = !isAnswered && (options.body as { trigger?: string } | undefined)?.trigger === CONTINUE;
    if (!isAnswered && !continues) this.#checkContinues(target);
    for (const message of [target, ...answered.map((one) => one.message)]) this.#responses.show(message);
    for (const { message, answers } of answered) {
      this.#calls.markSent(answers);
      this.#tools.claim(message.id, answers);
    }
    const expects = continues || isTargetAnswered;
    const opened = this.#receiver.read(target.id, { expects, repeats });
    const { number } = opened;
    for (const { message, answers } of answered) {
      // The response fails only if the server rejects the answers in the target message, not those in other messages.
      const response = message === target ? number : undefined;
      void this.#tools.send(message.id, answers, { response, extras: options }, () =>
        this.#receiver.isRead(number),
      );
    }
    if (continues) {
      this.#requests.sendAnswers(target.id, [], { response: number, extras: options, trigger: CONTINUE });
    }
    this.#tools.runDue();
    return opened;
  }

  /**
   * Throws when all calls in the last step of the message have an outcome and no chunks of the message follow. Some `sendAutomaticallyWhen` helpers send
   * such a message again after every response. The chat then gets one error instead of endless empty responses.
   */
  #checkContinues(target: M): void {
    const calls = callsOfLastStep(target);
    const areSettled = calls.length > 0 && calls.every(hasOutcome);
    if (areSettled && this.#responses.isIdle(target.id)) {
      throw new ProtocolError('nothing_to_answer', 'The last message answers no call that is open.');
    }
  }

  #abort(): void {
    if (this.#options.onAbort !== 'detach') this.interrupt();
  }

  #checkUsable(chatId: string): void {
    const error = endOf(this.connection.state);
    if (error instanceof ProtocolError) throw error;
    if (this.#chatId === null || this.#chatId === chatId || !this.#receiver.isRead()) return;
    throw new Error(
      `This transport still reads a response of the chat "${this.#chatId}". Create a transport for each chat.`,
    );
  }
}

/**
 * A `ChatTransport` for `useChat` over HTTP: one POST for each request, and one stream for all chunks, which reconnects by itself.
 *
 * @example
 * const transport = new DuologueSseTransport({ url: '/duologue' });
 */
export class DuologueSseTransport<M extends UIMessage = UIMessage> extends DuologueTransport<M> {
  constructor(options: WithExecutors<DuologueSseTransportOptions, M>) {
    super({ ...options, link: () => httpLinks(options) } as WithExecutors<DuologueTransportOptions, M>);
  }
}
