import type { UIMessage } from 'ai';
import type { Chunk } from '../../protocol/chunks.ts';
import type { ToolCalls } from '../tool-calls.ts';
import type { ResponseSink } from './message-reader.ts';
import { type Pending, StreamedMessage } from './streamed-message.ts';

/** How a response reads a message. */
export interface ReadOptions {
  /** Whether the page sends an answer to a call of the message, so that more chunks follow. */
  expects?: boolean;
  /** Ids of approved browser calls that the page has to run: the response starts with a `tool-input-available` for each. */
  repeats?: string[];
}

/**
 * Sorts the chunks of a connection into responses. A response is a message or a part of one: it ends with the turn, or at a pause, when
 * every call without an outcome waits for the user or for a browser tool that the transport does not run. Chunks of a message without a
 * reader are buffered. Nothing here waits or has a clock: chunks go straight to the sink of their response.
 */
export class Responses {
  readonly #calls: ToolCalls;
  readonly #shows: (messageId: string) => boolean;
  readonly #messages = new Map<string, StreamedMessage>();
  /** Responses to requests that the server has not accepted yet, by request id. */
  readonly #expected = new Map<string, ResponseSink>();
  /** The message that chunks belong to. */
  #current: StreamedMessage | null = null;

  /** `shows`: whether the page shows a message that it did not read from a response, e.g. one that it loaded over HTTP. */
  constructor(calls: ToolCalls, shows: (messageId: string) => boolean = () => false) {
    this.#calls = calls;
    this.#shows = shows;
  }

  /** Lets a response wait for the message that will answer a request. */
  expect(sink: ResponseSink, requestId: string): void {
    this.#expected.set(requestId, sink);
  }

  /** The server accepted the request, and that message will answer it. */
  accept(requestId: string, messageId: string): void {
    const sink = this.#expected.get(requestId);
    if (!sink) return;
    this.#expected.delete(requestId);
    const known = this.#messages.get(messageId);
    known?.close();
    if (known) known.read(sink, false);
    else this.#find(messageId).expect(sink);
  }

  /** Lets a response read a message from here on. */
  read(sink: ResponseSink, messageId: string, { expects = false, repeats = [] }: ReadOptions = {}): void {
    const message = this.#find(messageId);
    message.close();
    sink.write({ type: 'start', messageId });
    for (const chunk of repeats.flatMap((id) => this.#calls.announcementOf(id) ?? [])) sink.write(chunk);
    message.read(sink, expects);
  }

  /** Receives a chunk. `isReplay`: the server repeats it for pages that do not have it. */
  receive(chunk: Chunk, isReplay = false): void {
    if ('transient' in chunk && chunk.transient) return this.#receiveTransient(chunk);
    if (chunk.type === 'start' && chunk.messageId !== undefined) {
      const { messageId } = chunk;
      const isNew = !this.#messages.has(messageId);
      this.#current = this.#find(messageId);
      // A message that the page shows may have started long before this connection.
      if (isNew && !isReplay && this.#shows(messageId)) this.#current.show();
      else if (isNew) this.#current.expect();
      this.#current.start();
    }
    this.#current?.receive(chunk, isReplay);
  }

  /** A turn ended. */
  endTurn(): void {
    this.#current?.endTurn();
  }

  /** All chunks of a frame have been received. Returns the messages of which new chunks wait for a reader. */
  endFrame(): Pending[] {
    // While a response waits for the acceptance of its request, a new message may be the answer to it: do not report the message yet.
    return this.#all.flatMap((message) =>
      message.isUnread && this.#expected.size > 0 ? [] : (message.endFrame() ?? []),
    );
  }

  /** The reader of a response left; `isRejected`: because the server rejected its request. */
  leave(sink: ResponseSink, isRejected = false): void {
    for (const [id, waiting] of this.#expected) if (waiting === sink) this.#expected.delete(id);
    this.#all.find((message) => message.sink === sink)?.leave(isRejected);
  }

  /** The page shows a message that it did not read from a response: replays of it are dropped. A message that it read here is known already. */
  show(message: UIMessage): void {
    const known = this.#messages.get(message.id);
    if (!known || known.isUnread) this.#find(message.id).show();
    this.#calls.adopt(message, 'page');
  }

  /** The page loaded these messages over HTTP. */
  load(messages: readonly UIMessage[]): void {
    for (const message of messages) {
      this.#messages.get(message.id)?.loaded();
      this.#calls.adopt(message, 'server');
    }
  }

  /** The page gets the whole conversation anew. Responses to messages that have not started keep waiting. */
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

  /** Another conversation starts: every response ends. */
  end(): void {
    for (const message of this.#all) message.reset();
    for (const sink of this.#expected.values()) sink.end();
    this.#expected.clear();
    this.#messages.clear();
    this.#current = null;
  }

  /** Takes the buffered chunks of a message, for a page that shows them without a response. */
  takeBuffered(messageId: string): Chunk[] {
    const message = this.#messages.get(messageId);
    if (message?.is !== 'buffered') return [];
    const chunks: Chunk[] = [];
    message.read({ write: (chunk) => chunks.push(chunk), end: () => undefined }, false);
    message.close();
    return chunks;
  }

  /** The oldest message that is buffered from its first chunk on. */
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

  /** A transient chunk belongs to no message: the response that is being read gets it, else one that waits. */
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
