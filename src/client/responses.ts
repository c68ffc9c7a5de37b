import type { UIMessage } from 'ai';
import type { Chunk, WaitingAnswer } from '../protocol/chunks.ts';
import { type AnswerPart, CallTracker } from './call-tracker.ts';
import { FollowedMessage, type ResponsesOutput, toResponse } from './followed-message.ts';
import { Steps } from './steps.ts';

/** What happens to the responses of a connection. */
export type ResponsesInput =
  /** Someone will read the message that answers a request. */
  | { type: 'ask'; response: number; requestId: string }
  /** The server has the request: this message will answer it. */
  | { type: 'accepted'; requestId: string; messageId: string }
  /**
   * Someone reads a message from here on. `expects`: an answer is on its way for it. `repeats`: approved browser calls that
   * the page is asked to run.
   */
  | { type: 'open'; response: number; messageId: string; expects?: boolean; repeats?: string[] }
  /** `isReplay`: said before the connection began, and repeated for pages that have not seen it. */
  | { type: 'chunk'; chunk: Chunk; isReplay?: boolean }
  /** A turn is over. */
  | { type: 'done' }
  /** All that has arrived has been pushed. */
  | { type: 'frame-end' }
  /** The reader of a response went away; `isRefused`: because what it waited for will not come. */
  | { type: 'leave'; response: number; isRefused?: boolean }
  /** The page has a message from elsewhere, and shows it. */
  | { type: 'show'; message: UIMessage }
  /** The page has read these messages from the server. */
  | { type: 'loaded'; messages: readonly UIMessage[] }
  /** Answers leave for the server. */
  | { type: 'answer'; answers: readonly AnswerPart[] }
  /** These answers did not arrive, or did not count, and may be given again. */
  | { type: 'unanswer'; answers: readonly AnswerPart[] }
  /** The calls that wait for an answer, as the server says when a connection begins. */
  | { type: 'waiting'; calls: readonly WaitingAnswer[] }
  /** The page gets the whole conversation anew; only what is to come is still waited for. */
  | { type: 'reset'; messages: readonly UIMessage[] };

/**
 * Sorts the chunks of a connection into responses. A response is one message, or a piece of one: it ends with the turn, or
 * at a pause, when everything still open waits for the person or for a browser tool that nobody runs here. What comes for
 * a message that nobody reads is kept until someone does.
 */
export class Responses {
  /** The calls of the conversation. What happens to them is pushed; from outside they are only asked. */
  readonly calls: Omit<CallTracker, 'push' | 'adopt' | 'mark' | 'unmark' | 'await'>;
  readonly #ledger: CallTracker;
  readonly #steps: Steps;
  readonly #shows: (messageId: string) => boolean;
  /** The messages that the page knows of. */
  readonly #messages = new Map<string, FollowedMessage>();
  /** Responses to requests that the server has not accepted yet, by the name of the request. */
  readonly #asking = new Map<string, number>();
  /** The message that chunks belong to. */
  #current: FollowedMessage | null = null;

  /** `runs`: whether this page runs a tool. `shows`: whether it shows a message, from wherever it has it. */
  constructor(runs: (toolName: string) => boolean, shows: (messageId: string) => boolean = () => false) {
    this.#shows = shows;
    this.#ledger = new CallTracker(runs);
    this.calls = this.#ledger;
    this.#steps = new Steps(this.#ledger);
  }

  push(input: ResponsesInput): ResponsesOutput[] {
    switch (input.type) {
      case 'ask':
        this.#asking.set(input.requestId, input.response);
        return [];
      case 'accepted':
        return this.#accept(input.requestId, input.messageId);
      case 'open':
        return this.#open(input);
      case 'chunk':
        return this.#take(input.chunk, input.isReplay === true);
      case 'done':
        return this.#current?.done() ?? [];
      case 'frame-end':
        // What is new may be the answer that a request waits for: who reads it is known once that is accepted.
        return this.#all.flatMap((message) =>
          message.isUnread && this.#asking.size > 0 ? [] : message.frameEnded(),
        );
      case 'leave':
        for (const [id, response] of this.#asking) if (response === input.response) this.#asking.delete(id);
        this.#all.find(({ response }) => response === input.response)?.leave(input.isRefused === true);
        return [];
      case 'show':
        this.#show(input.message);
        return [];
      case 'loaded':
        for (const message of input.messages) {
          this.#messages.get(message.id)?.loaded();
          this.#ledger.adopt(message, 'server');
        }
        return [];
      case 'answer':
        this.#ledger.mark(input.answers);
        return [];
      case 'unanswer':
        this.#ledger.unmark(input.answers);
        return [];
      case 'waiting':
        this.#ledger.await(input.calls);
        return [];
      case 'reset':
        return this.#reset(input.messages);
      default:
        return input satisfies never;
    }
  }

  /** The conversation is over: every response ends. */
  end(): ResponsesOutput[] {
    const ends = [...this.#asking.values()].map((response): ResponsesOutput => ({ type: 'end', response }));
    this.#asking.clear();
    const read = this.#all.flatMap((message) => message.reset());
    this.#messages.clear();
    this.#current = null;
    return [...read, ...ends];
  }

  /** Takes what is kept of a message, for a page that shows it without a response. */
  takeKept(messageId: string): Chunk[] {
    const message = this.#messages.get(messageId);
    if (message?.is !== 'kept') return [];
    const out = [...message.read(0, false), ...message.close()];
    return out.flatMap((output) => (output.type === 'chunk' ? [output.chunk] : []));
  }

  /** A message that is kept from its first chunk on and that nobody reads, the oldest if there are several. */
  get unread(): string | null {
    return this.#all.find(({ isUnread }) => isUnread)?.id ?? null;
  }

  /** The messages of which chunks wait for a reader, oldest first. */
  get kept(): { messageId: string; isNew: boolean }[] {
    return this.#all.flatMap(({ is, id: messageId, isUnread: isNew }) =>
      is === 'kept' ? { messageId, isNew } : [],
    );
  }

  /** Whether chunks of the message wait for someone to read them. */
  isKept(messageId: string): boolean {
    return this.#messages.get(messageId)?.is === 'kept';
  }

  /** Whether a chunk of the message came. */
  hasBegun(messageId: string): boolean {
    return this.#messages.get(messageId)?.hasBegun === true;
  }

  /** Whether the message ended with an error. */
  hasFailed(messageId: string): boolean {
    return this.#messages.get(messageId)?.hasFailed === true;
  }

  /** Whether nothing of the message is to come, and nothing waits for a reader. */
  isIdle(messageId: string): boolean {
    return this.#messages.get(messageId)?.isIdle ?? true;
  }

  /** Whether all that came was read, and nothing more comes before someone says or answers something. */
  get isAtRest(): boolean {
    return this.#all.every(({ isAtRest }) => isAtRest);
  }

  get #all(): FollowedMessage[] {
    return [...this.#messages.values()];
  }

  #open(input: Extract<ResponsesInput, { type: 'open' }>): ResponsesOutput[] {
    const { response, messageId, expects = false, repeats = [] } = input;
    const message = this.#message(messageId);
    const again = repeats.flatMap((id) => this.#ledger.announcementOf(id) ?? []);
    const head = toResponse(response, [{ type: 'start', messageId }, ...again]);
    return [...message.close(), ...head, ...message.read(response, expects)];
  }

  #accept(requestId: string, messageId: string): ResponsesOutput[] {
    const response = this.#asking.get(requestId);
    if (response === undefined) return [];
    this.#asking.delete(requestId);
    const known = this.#messages.get(messageId);
    if (known) return [...known.close(), ...known.read(response, false)];
    this.#message(messageId, (message) => message.begin(response));
    return [];
  }

  #take(chunk: Chunk, isReplay: boolean): ResponsesOutput[] {
    if ('transient' in chunk && chunk.transient) return this.#tell(chunk);
    if (chunk.type === 'start' && chunk.messageId !== undefined) {
      // What goes on now may have begun long before this connection.
      const goesOn = !isReplay && this.#shows(chunk.messageId);
      this.#current = this.#message(chunk.messageId, (message) =>
        goesOn ? message.show() : message.begin(),
      );
      this.#current.goOn();
    }
    return this.#current?.take(chunk, isReplay) ?? [];
  }

  /** Data that is told and not kept goes to whoever reads. */
  #tell(chunk: Chunk): ResponsesOutput[] {
    this.#ledger.push(chunk, this.#current?.id ?? '');
    if (chunk.type === 'data-settled') {
      const { messageId } = chunk.data;
      return [...this.#give(chunk), ...(this.#messages.get(messageId)?.settled() ?? [])];
    }
    return this.#give(chunk);
  }

  #give(chunk: Chunk): ResponsesOutput[] {
    const reader = [this.#current, ...this.#all.reverse()].find((message) => message?.is === 'read');
    const response = reader?.response ?? this.#asking.values().next().value;
    return response === undefined ? [] : [{ type: 'chunk', response, chunk }];
  }

  /** Of a message that the page has from elsewhere nothing is repeated; one that it followed here it knows. */
  #show(message: UIMessage): void {
    const known = this.#messages.get(message.id);
    if (!known || known.isUnread) this.#message(message.id).show();
    this.#ledger.adopt(message, 'page');
  }

  #reset(messages: readonly UIMessage[]): ResponsesOutput[] {
    const known = new Set(messages.map(({ id }) => id));
    const out = this.#all.flatMap((message) => {
      // An answer that has not begun is still to come.
      if (message.isExpected && !known.has(message.id)) return [];
      if (!known.has(message.id)) this.#messages.delete(message.id);
      return message.reset();
    });
    this.#current = null;
    for (const message of messages) {
      this.#message(message.id);
      this.#ledger.adopt(message, 'reset');
    }
    return out;
  }

  /** The message of that id; one that is new here is set up first. */
  #message(id: string, setUp: (message: FollowedMessage) => void = () => undefined): FollowedMessage {
    const known = this.#messages.get(id);
    if (known) return known;
    const message = new FollowedMessage(id, this.#ledger, this.#steps);
    this.#messages.set(id, message);
    setUp(message);
    return message;
  }
}
