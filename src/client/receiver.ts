import type { UIMessage, UIMessageChunk } from 'ai';
import type { AcceptedRequest, Chunk, DataParts, Message, SessionInfo } from '../protocol/chunks.ts';
import { ERRORS, ProtocolError } from '../protocol/errors.ts';
import type { BrowserTools } from './browser-tools.ts';
import { toError } from './http.ts';
import { type Connection, type ConnectionEvent, endOf } from './link/index.ts';
import { systemTimers, type Timers } from './platform.ts';
import type { Requests } from './requests.ts';
import { type Pending, type ReadOptions, ResponseStream, type Responses } from './responses/index.ts';
import type { ToolCalls } from './tool-calls.ts';

/** Callbacks for everything in a conversation that the chat does not read from a response, and settings of the responses. */
export interface ReceiverOptions {
  /** Text deltas that arrive within this many milliseconds reach the chat as one delta; in a long or very fast text, the time is longer. Default: 16. */
  mergeMs?: number | undefined;
  /** Gets transient data, which is not part of any message: transcripts, errors, outcomes of calls in earlier messages. */
  onData?: ((chunk: Extract<Chunk, { type: `data-${string}` }>) => void) | undefined;
  /**
   * Called when chunks of a message have arrived that no response reads. `resumeStream()` of the chat reads a new message; `sendMessage()` without a
   * message continues the last one.
   */
  onPending?: ((pending: Pending) => void) | undefined;
  /**
   * Called on each new link, and whenever the active page changes. `isHere`: this page is the active page, which runs browser tools and plays
   * sound. `isFree`: no page is active.
   */
  onActive?: ((isHere: boolean, isFree: boolean) => void) | undefined;
  /** Whether the page already shows a message, for example one that it loaded over HTTP. New chunks then continue the shown message. */
  shows?: ((messageId: string) => boolean) | undefined;
  /**
   * Called when the page missed too many chunks, and after `resync()`: the page must show these messages instead of its own. They are the newest page
   * of the conversation. `older`: the id of the first of them, if the server has messages before it.
   */
  onReset?: ((messages: Message[], older?: string) => void) | undefined;
  timers?: Timers | undefined;
}

/** A response that was opened for the chat. `number` identifies the response in later calls. */
export interface OpenResponse {
  number: number;
  readable: ReadableStream<UIMessageChunk>;
}

/** The parts of a transport that a receiver passes events to. */
interface ReceiverContext {
  connection: Connection;
  calls: ToolCalls;
  requests: Requests;
  tools: BrowserTools;
  responses: Responses;
}

const MERGE_MS = 16;

/** Receives the events of a connection. It passes chunks to the responses that the chat reads, and records which requests the server accepted or rejected. */
export class Receiver {
  readonly #connection: Connection;
  readonly #calls: ToolCalls;
  readonly #requests: Requests;
  readonly #tools: BrowserTools;
  readonly #options: ReceiverOptions;
  readonly #timers: Timers;
  readonly #responses: Responses;
  /** By number: the responses that the chat reads, and those that have ended while the chat still processes their last chunks. */
  readonly #streams = new Map<number, ResponseStream>();
  #count = 0;
  #isRunning = false;
  #isOutOfOrder = false;
  /** The messages of a reset, until the chat can show them. */
  #reset: { messages: Message[]; older: string | undefined } | null = null;

  constructor(context: ReceiverContext, options: ReceiverOptions) {
    const { connection } = context;
    this.#connection = connection;
    this.#calls = context.calls;
    this.#requests = context.requests;
    this.#tools = context.tools;
    this.#responses = context.responses;
    this.#options = options;
    this.#timers = options.timers ?? systemTimers;
    connection.listen((event) => this.#receive(event));
    connection.subscribe(() => this.#onState());
  }

  /** Whether the agent was working when the newest link opened. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Whether pages sent or rewound messages at nearly the same moment, so that this page may show them in another order than the server has them. */
  get isOutOfOrder(): boolean {
    return this.#isOutOfOrder;
  }

  /** Whether the chat is reading the response with this number; without a number, whether it is reading any response. */
  isRead(number?: number): boolean {
    if (number === undefined) return [...this.#streams.values()].some(({ isEnded }) => !isEnded);
    return this.#streams.get(number)?.isEnded === false;
  }

  /** Opens a response for the message that will answer a request. */
  expect(requestId: string): OpenResponse {
    this.#isOutOfOrder ||= this.#responses.buffered.length > 0;
    return this.#open((stream) => this.#responses.expect(stream, requestId));
  }

  /** Opens a response that reads a message: the chunks that no response has read yet, and later ones. */
  read(messageId: string, options?: ReadOptions): OpenResponse {
    return this.#open((stream) => this.#responses.read(stream, messageId, options));
  }

  /** Detaches a response, because the chat stops reading it. Returns false when the response had already ended. */
  leave(number: number): boolean {
    return this.#leave(number, false) !== undefined;
  }

  /** Asks the server for a reset: the newest messages of the conversation, in the order of the server. */
  resync(): void {
    this.#isOutOfOrder = false;
    this.#connection.resync();
  }

  /** Ends every response, because another conversation starts. */
  end(): void {
    this.#responses.end();
  }

  #receive(event: ConnectionEvent): void {
    switch (event.type) {
      case 'session':
        return this.#startSession(event.session);
      case 'chunk':
        return this.#receiveChunk(event.chunk, event.isReplay === true);
      case 'done':
        this.#tools.endTurn();
        return this.#responses.endTurn();
      case 'frame-end':
        this.#tools.runDue();
        for (const pending of this.#responses.endFrame()) this.#report(pending);
        return this.#updateRest();
      case 'refused': {
        const isTooLarge = event.code === ERRORS.too_large.close;
        for (const { response, settle } of this.#requests.takeAll()) {
          const error = new ProtocolError(
            isTooLarge ? 'too_large' : 'invalid_frame',
            event.reason ||
              `The server closed the connection: a request was ${isTooLarge ? 'too large' : 'not valid'}.`,
          );
          settle?.(error);
          if (response !== undefined) this.#fail(response, error);
        }
        return;
      }
      // Ignored here: a `Voice` listens to the same connection and plays the sound.
      case 'binary':
        return;
      default:
        event satisfies never;
    }
  }

  #startSession(session: SessionInfo): void {
    this.#isRunning = session.running !== null;
    this.#tools.startSession(session);
    this.#reportActive(session.floor);
    this.#calls.setAwaited(session.open);
    for (const accepted of session.received) this.#accept(accepted);
  }

  #receiveChunk(chunk: Chunk, isReplay: boolean): void {
    switch (chunk.type) {
      case 'data-reset':
        return this.#startReset(chunk.data);
      case 'data-accepted':
        return this.#accept(chunk.data);
      case 'data-floor':
        this.#tools.setActive(chunk.data.connectionId);
        return this.#reportActive(chunk.data.connectionId);
      case 'data-message':
        if (this.#requests.hasMessage(chunk.data.message.id)) return;
        this.#isOutOfOrder ||= this.#requests.hasMessages;
        break;
      case 'data-rewind':
        this.#isOutOfOrder ||= this.#responses.buffered.length > 0;
        if (this.#requests.hasMessage(chunk.data.messageId)) return;
        break;
      case 'data-decided': {
        const { toolCallId, approved } = chunk.data;
        const isOwn = this.#calls.wasSent(toolCallId, 'decision');
        if (isOwn && this.#calls.get(toolCallId)?.approved === approved) return;
        // Another page sent the decision, so this page must not send one.
        this.#calls.markSent([{ toolCallId, state: 'approval-responded', approval: { approved } }]);
        break;
      }
      default:
    }
    this.#responses.receive(chunk, isReplay);
    if (chunk.type === 'start') this.#requests.messageStarted(chunk.messageId);
    if ('transient' in chunk && chunk.transient) this.#options.onData?.(chunk);
    if (chunk.type === 'data-error') this.#reject(chunk.data);
    this.#tools.observe(chunk, isReplay);
  }

  #reportActive(connectionId: string | null): void {
    this.#options.onActive?.(this.#tools.isActive, connectionId === null);
  }

  /** Handles the acceptance of a request. The acceptance names the message that will answer the request. */
  #accept({ requestId, messageId }: AcceptedRequest): void {
    if (!this.#requests.accept(requestId, messageId) || messageId === undefined) return;
    // Over HTTP, the answer may start before the acceptance arrives.
    if (this.#responses.hasStarted(messageId)) this.#requests.messageStarted(messageId);
    this.#tools.expect(messageId);
    this.#responses.accept(requestId, messageId);
  }

  #reject(error: DataParts['error']): void {
    const request = this.#requests.reject(error);
    if (!request) return;
    const { response, answers = [], settle } = request;
    // The page may send answers again after a retryable error. When the server refused the answer to a question, the page may
    // answer that question again, because the question stays open. A refused decision is final.
    this.#calls.unmarkSent(
      error.retryable
        ? answers
        : answers.filter(({ approval }) => error.code === 'answer_refused' && !approval),
    );
    settle?.(toError(error));
    if (response !== undefined) this.#fail(response, toError(error));
  }

  #startReset({ messages, older }: DataParts['reset']): void {
    this.#reset = { messages: this.#requests.appendTo(messages as UIMessage[]) as Message[], older };
    this.#responses.reset(messages);
    this.#reportReset();
  }

  /** Reports a reset once the chat has processed every response that has ended. Before that, the chat would overwrite the messages of the reset. */
  #reportReset(): void {
    const unread = [...this.#streams.values()].find(({ isEnded, isFinished }) => isEnded && !isFinished);
    if (unread) return unread.whenFinished(() => this.#reportReset());
    const reset = this.#reset;
    this.#reset = null;
    if (reset) this.#options.onReset?.(reset.messages, reset.older);
  }

  #report({ messageId, isNew }: Pending): void {
    // Report the message in a later task, because the chat may still be processing the message that just ended. If a response reads the chunks by then,
    // there is nothing to report.
    this.#timers.after(0, () => {
      if (this.#responses.isBuffered(messageId)) this.#options.onPending?.({ messageId, isNew });
    });
  }

  #open(start: (stream: ResponseStream) => void): OpenResponse {
    for (const [number, { isFinished }] of this.#streams) if (isFinished) this.#streams.delete(number);
    const number = ++this.#count;
    const { mergeMs = MERGE_MS } = this.#options;
    const stream = new ResponseStream(this.#timers, mergeMs, () => this.#leave(number, false));
    this.#streams.set(number, stream);
    start(stream);
    this.#updateRest();
    return { number, readable: stream.readable as ReadableStream<UIMessageChunk> };
  }

  #leave(number: number, isRejected: boolean): ResponseStream | undefined {
    const stream = this.#streams.get(number);
    if (!stream || stream.isEnded) return undefined;
    this.#streams.delete(number);
    this.#responses.leave(stream, isRejected);
    this.#updateRest();
    return stream;
  }

  #fail(number: number, error: Error): void {
    const stream = this.#leave(number, true);
    this.#requests.withdraw(number);
    stream?.fail(error);
  }

  #updateRest(): void {
    this.#connection.setAtRest(!this.isRead() && this.#responses.isAtRest);
  }

  /**
   * Handles a change of the connection's state. If the connection has ended and will not reconnect by itself, this method fails the open responses and
   * requests, and aborts the browser tools.
   */
  #onState(): void {
    const error = endOf(this.#connection.state);
    if (!error) return;
    for (const number of [...this.#streams.keys()]) this.#fail(number, error);
    for (const { settle } of this.#requests.takeAll()) settle?.(error);
    this.#tools.cancelAll();
  }
}
