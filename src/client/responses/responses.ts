import type { UIMessage } from 'ai';
import type { Chunk } from '../../protocol/chunks.ts';
import type { ToolCalls } from '../tool-calls.ts';
import { StepBoundaries } from './message-reader.ts';
import { type ResponseOutput, StreamedMessage, toResponse } from './streamed-message.ts';

/** What a response is opened for. */
interface OpenOptions {
  /** Whether the page sends an answer to a call of the message, so that more chunks follow. */
  expects?: boolean;
  /** Approved browser calls that the page has to run: they are announced again. */
  repeats?: string[];
}

/**
 * Sorts the chunks of a connection into responses. A response is a message or a part of one: it ends with the turn, or at a pause, when
 * every call without an outcome waits for the user or for a browser tool that the transport does not run. Chunks of a message without a
 * reader are buffered. Nothing here does I/O: methods return what should happen to the responses, which have numbers.
 */
export class Responses {
  readonly #calls: ToolCalls;
  readonly #steps: StepBoundaries;
  readonly #shows: (messageId: string) => boolean;
  readonly #messages = new Map<string, StreamedMessage>();
  /** Responses to requests that the server has not accepted yet, by request id. */
  readonly #expected = new Map<string, number>();
  /** The message that chunks belong to. */
  #current: StreamedMessage | null = null;

  /** `shows`: whether the page shows a message that it has from elsewhere. */
  constructor(calls: ToolCalls, shows: (messageId: string) => boolean = () => false) {
    this.#calls = calls;
    this.#shows = shows;
    this.#steps = new StepBoundaries(calls);
  }

  /** Lets a response wait for the message that will answer a request. */
  expect(response: number, requestId: string): void {
    this.#expected.set(requestId, response);
  }

  /** The server accepted the request, and that message will answer it. */
  accept(requestId: string, messageId: string): ResponseOutput[] {
    const response = this.#expected.get(requestId);
    if (response === undefined) return [];
    this.#expected.delete(requestId);
    const known = this.#messages.get(messageId);
    if (known) return [...known.close(), ...known.read(response, false)];
    this.#find(messageId, (message) => message.expect(response));
    return [];
  }

  /** Lets a response read a message from here on. */
  open(response: number, messageId: string, options: OpenOptions = {}): ResponseOutput[] {
    const { expects = false, repeats = [] } = options;
    const message = this.#find(messageId);
    const again = repeats.flatMap((id) => this.#calls.announcementOf(id) ?? []);
    const head = toResponse(response, [{ type: 'start', messageId }, ...again]);
    return [...message.close(), ...head, ...message.read(response, expects)];
  }

  /** Receives a chunk. `isReplay`: the server repeats it for pages that do not have it. */
  receive(chunk: Chunk, isReplay = false): ResponseOutput[] {
    if ('transient' in chunk && chunk.transient) return this.#receiveTransient(chunk);
    if (chunk.type === 'start' && chunk.messageId !== undefined) {
      // The message may have started long before this connection.
      const isShown = !isReplay && this.#shows(chunk.messageId);
      this.#current = this.#find(chunk.messageId, (message) => (isShown ? message.show() : message.expect()));
      this.#current.start();
    }
    return this.#current?.receive(chunk, isReplay) ?? [];
  }

  /** A turn ended. */
  endTurn(): ResponseOutput[] {
    return this.#current?.endTurn() ?? [];
  }

  /** All chunks of a frame have been received. */
  endFrame(): ResponseOutput[] {
    // A new message may be the answer to a request that is not accepted yet: then that response reads it.
    return this.#all.flatMap((message) =>
      message.isUnread && this.#expected.size > 0 ? [] : message.endFrame(),
    );
  }

  /** The reader of a response left; `isRejected`: because the server rejected its request. */
  leave(response: number, isRejected = false): void {
    for (const [id, waiting] of this.#expected) if (waiting === response) this.#expected.delete(id);
    this.#all.find((message) => message.response === response)?.leave(isRejected);
  }

  /** The page shows a message that it has from elsewhere: replays of it are dropped. A message that it read here is known already. */
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
  reset(messages: readonly UIMessage[]): ResponseOutput[] {
    const known = new Set(messages.map(({ id }) => id));
    const out = this.#all.flatMap((message) => {
      if (message.isExpected && !known.has(message.id)) return [];
      if (!known.has(message.id)) this.#messages.delete(message.id);
      return message.reset();
    });
    this.#current = null;
    for (const message of messages) {
      this.#find(message.id);
      this.#calls.adopt(message, 'reset');
    }
    return out;
  }

  /** Another conversation starts: every response ends. */
  end(): ResponseOutput[] {
    const ends = [...this.#expected.values()].map((response): ResponseOutput => ({ type: 'end', response }));
    this.#expected.clear();
    const read = this.#all.flatMap((message) => message.reset());
    this.#messages.clear();
    this.#current = null;
    return [...read, ...ends];
  }

  /** Takes the buffered chunks of a message, for a page that shows them without a response. */
  takeBuffered(messageId: string): Chunk[] {
    const message = this.#messages.get(messageId);
    if (message?.is !== 'buffered') return [];
    const out = [...message.read(0, false), ...message.close()];
    return out.flatMap((output) => (output.type === 'chunk' ? [output.chunk] : []));
  }

  /** The oldest message that is buffered from its first chunk on. */
  get unread(): string | null {
    return this.#all.find(({ isUnread }) => isUnread)?.id ?? null;
  }

  /** The messages with buffered chunks, oldest first. */
  get buffered(): { messageId: string; isNew: boolean }[] {
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
  #receiveTransient(chunk: Chunk): ResponseOutput[] {
    this.#calls.observe(chunk, this.#current?.id ?? '');
    const reader = [this.#current, ...this.#all.reverse()].find((message) => message?.is === 'read');
    const response = reader?.response ?? this.#expected.values().next().value;
    const passed = response === undefined ? [] : toResponse(response, [chunk]);
    if (chunk.type !== 'data-settled') return passed;
    return [...passed, ...(this.#messages.get(chunk.data.messageId)?.callSettled() ?? [])];
  }

  /** The message with that id; a new one is set up first. */
  #find(id: string, setUp: (message: StreamedMessage) => void = () => undefined): StreamedMessage {
    const known = this.#messages.get(id);
    if (known) return known;
    const message = new StreamedMessage(id, this.#calls, this.#steps);
    this.#messages.set(id, message);
    setUp(message);
    return message;
  }
}
