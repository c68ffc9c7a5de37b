import type { UIMessage } from 'ai';
import type { Chunk } from '../../protocol/chunks.ts';
import type { ToolCalls } from '../tool-calls.ts';
import type { ResponseSink } from './message-reader.ts';
import { type Pending, StreamedMessage } from './streamed-message.ts';

/** How a response reads a message. */
export interface ReadOptions {
  /** Whether the page sends an answer to a call of the message now, so that more chunks follow. */
  expects?: boolean;
  /** The ids of approved browser calls that the page has to run. The response starts with a `tool-input-available` chunk for each. */
  repeats?: string[];
}

/**
 * Sorts the chunks of a connection into responses. A response is a message or a part of one. It ends with the turn, at an error, or at a pause: every
 * call without an outcome then waits for the user, or for a browser tool that the transport does not run. Chunks of a message that no
 * response reads are buffered. This class neither waits nor uses a clock: it passes each chunk to the sink of its response at once.
 */
export class Responses {
  readonly #calls: ToolCalls;
  readonly #shows: (messageId: string) => boolean;
  readonly #messages = new Map<string, StreamedMessage>();
  /** Responses to requests that the server has not accepted yet, by request id. */
  readonly #expected = new Map<string, ResponseSink>();
  /** The message that the newest `start` chunk named. The chunks after that chunk belong to this message. */
  #current: StreamedMessage | null = null;

  /** `shows`: whether the page shows a message that it did not read from a response, e.g. one that it loaded over HTTP. */
  constructor(calls: ToolCalls, shows: (messageId: string) => boolean = () => false) {
    this.#calls = calls;
    this.#shows = shows;
  }

  /** Registers a response that waits for the message that will answer a request. */
  expect(sink: ResponseSink, requestId: string): void {
    this.#expected.set(requestId, sink);
  }

  /** Records that the server accepted a request. The response that waits for its acceptance now reads the message `messageId`, which answers the request. */
  accept(requestId: string, messageId: string): void {
    const sink = this.#expected.get(requestId);
    if (!sink) return;
    this.#expected.delete(requestId);
    const known = this.#messages.get(messageId);
    known?.close();
    if (known) known.read(sink, false);
    else this.#find(messageId).expect(sink);
  }

  /** Lets a response read the buffered chunks of a message, and later ones. Another response that reads the message ends. */
  read(sink: ResponseSink, messageId: string, { expects = false, repeats = [] }: ReadOptions = {}): void {
    const message = this.#find(messageId);
    message.close();
    sink.write({ type: 'start', messageId });
    for (const chunk of repeats.flatMap((id) => this.#calls.announcementOf(id) ?? [])) sink.write(chunk);
    message.read(sink, expects);
  }

  /** Receives a chunk. `isReplay`: the chunk is older than the newest link, so the page may have it already. */
  receive(chunk: Chunk, isReplay = false): void {
    if ('transient' in chunk && chunk.transient) return this.#receiveTransient(chunk);
    if (chunk.type === 'start' && chunk.messageId !== undefined) {
      const { messageId } = chunk;
      const isNew = !this.#messages.has(messageId);
      this.#current = this.#find(messageId);
      // The page already shows this message, for example because the page loaded the message over HTTP. Only the chunks of its continuation arrive here.
      if (isNew && !isReplay && this.#shows(messageId)) this.#current.show();
      else if (isNew) this.#current.expect();
      this.#current.start();
    }
    this.#current?.receive(chunk, isReplay);
  }

  /** Handles the end of a turn. */
  endTurn(): void {
    this.#current?.endTurn();
  }

  /** Call it after all chunks of a frame. Returns the messages with new chunks that no response reads. */
  endFrame(): Pending[] {
    // While a response waits for the acceptance of its request, a new message may be the answer to that request. So do not report the message yet.
    return this.#all.flatMap((message) =>
      message.isUnread && this.#expected.size > 0 ? [] : (message.endFrame() ?? []),
    );
  }

  /** Removes a response that the chat no longer reads. `isRejected`: because the server rejected its request. */
  leave(sink: ResponseSink, isRejected = false): void {
    for (const [id, waiting] of this.#expected) if (waiting === sink) this.#expected.delete(id);
    this.#all.find((message) => message.sink === sink)?.leave(isRejected);
  }

  /**
   * Records that the page shows this message without having read it from a response, so that replays of it are dropped. For a message that was read
   * from a response it changes nothing.
   */
  show(message: UIMessage): void {
    const known = this.#messages.get(message.id);
    if (!known || known.isUnread) this.#find(message.id).show();
    this.#calls.adopt(message, 'page');
  }

  /** Records that the page loaded these messages over HTTP. */
  load(messages: readonly UIMessage[]): void {
    for (const message of messages) {
      this.#messages.get(message.id)?.loaded();
      this.#calls.adopt(message, 'server');
    }
  }

  /** Discards the state of all messages, and continues with the messages of a reset. A response that waits for a message that has not started keeps waiting. */
  reset(messages: readonly UIMessage[]): void {
    const known = new Set(messages.map(({ id }) => id));
    for (const message of this.#all) {
      if (message.isExpected && !known.has(message.id)) continue;
      if (!known.has(message.id)) this.#messages.delete(message.id);
      message.reset();
    }
    this.#current = null;
    for (const message of messages) {
      this.#find(message.id);
      this.#calls.adopt(message, 'reset');
    }
  }

  /** Ends every response, because another conversation starts. */
  end(): void {
    for (const message of this.#all) message.reset();
    for (const sink of this.#expected.values()) sink.end();
    this.#expected.clear();
    this.#messages.clear();
    this.#current = null;
  }

  /** Removes and returns the buffered chunks of a message, for a page that shows them without a response. */
  takeBuffered(messageId: string): Chunk[] {
    const message = this.#messages.get(messageId);
    if (message?.is !== 'buffered') return [];
    const chunks: Chunk[] = [];
    message.read({ write: (chunk) => chunks.push(chunk), end: () => undefined }, false);
    message.close();
    return chunks;
  }

  /** The id of the oldest message that is buffered from its first chunk on; null when no message is. */
  get unread(): string | null {
    return this.#all.find(({ isUnread }) => isUnread)?.id ?? null;
  }

  /** The messages with buffered chunks, oldest first. */
  get buffered(): Pending[] {
    return this.#all.flatMap(({ is, id: messageId, isUnread: isNew }) =>
      is === 'buffered' ? { messageId, isNew } : [],
    );
  }

  /** Whether chunks of the message are buffered. */
  isBuffered(messageId: string): boolean {
    return this.#messages.get(messageId)?.is === 'buffered';
  }

  /** Whether a chunk of the message has arrived. */
  hasStarted(messageId: string): boolean {
    return this.#messages.get(messageId)?.hasStarted === true;
  }

  /** Whether no chunks of the message follow, and none are buffered. */
  isIdle(messageId: string): boolean {
    return this.#messages.get(messageId)?.isIdle ?? true;
  }

  /** Whether all chunks were read, and no more follow before the page sends something. */
  get isAtRest(): boolean {
    return this.#all.every(({ isAtRest }) => isAtRest);
  }

  get #all(): StreamedMessage[] {
    return [...this.#messages.values()];
  }

  /** A transient chunk belongs to no message, so it goes to the response that is being read, or else to a response that waits for its message. */
  #receiveTransient(chunk: Chunk): void {
    this.#calls.observe(chunk, this.#current?.id ?? '');
    const reader = [this.#current, ...this.#all.reverse()].find((message) => message?.is === 'read');
    const sink = reader?.sink ?? this.#expected.values().next().value;
    sink?.write(chunk);
    if (chunk.type === 'data-settled') this.#messages.get(chunk.data.messageId)?.callSettled();
  }

  #find(id: string): StreamedMessage {
    const message = this.#messages.get(id) ?? new StreamedMessage(id, this.#calls);
    this.#messages.set(id, message);
    return message;
  }
}
