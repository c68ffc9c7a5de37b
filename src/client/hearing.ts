import type { UIMessage, UIMessageChunk } from 'ai';
import type { AcceptedRequest, Chunk, DataParts, Message } from '../protocol/chunks.ts';
import { ERRORS, ProtocolError } from '../protocol/errors.ts';
import { endedCall, type TrackedCall } from './call-tracker.ts';
import type { Connection } from './connection.ts';
import { endingOf } from './connection-state.ts';
import { toError } from './failure.ts';
import { Floor } from './floor.ts';
import type { ResponsesOutput } from './followed-message.ts';
import type { ConnectionEvent } from './incoming.ts';
import { MERGE_MS, type TransportOptions } from './options.ts';
import { Requests } from './requests.ts';
import { ResponseStream } from './response-stream.ts';
import { Responses, type ResponsesInput } from './responses.ts';
import { systemTimers, type Timers } from './timers.ts';

/** Chunks that came while nobody read their message. `isNew`: the page has not seen the message before. */
export interface Pending {
  messageId: string;
  isNew: boolean;
}

/** What a page wants to know of a conversation beside the responses that it reads. */
export interface HearingOptions extends Pick<TransportOptions, 'mergeMs' | 'onData' | 'timers'> {
  /** Chunks wait for a reader: `resumeStream()` reads a new message, `sendMessage()` goes on with the last one. */
  onPending?: ((pending: Pending) => void) | undefined;
  /** The floor is here, is free, or is somewhere else: the page that has it runs browser tools and hears sound. */
  onFloor?: ((isHere: boolean, isFree: boolean) => void) | undefined;
  /** Whether the page shows a message: one that it has from elsewhere goes on where it is. */
  shows?: ((messageId: string) => boolean) | undefined;
  /** What was missed is gone: these messages are the conversation now. */
  onReset?: ((messages: Message[], older?: string) => void) | undefined;
}

/** A response that was just opened. */
export interface Opened {
  number: number;
  readable: ReadableStream<UIMessageChunk>;
}

/** What the browser tools of a page must hear of. */
export interface ToolListener {
  /** Whether this page runs a tool. */
  has(toolName: string): boolean;
  /** All that has arrived is known: tools may be due. */
  due(): void;
  /** A call ended. `isReplay`: that was said before. */
  ended(toolCallId: string, isReplay: boolean): void;
}

/** What a page hears over a connection: chunks become responses, and every request hears what became of it. */
export class Hearing {
  readonly responses: Responses;
  readonly floor: Floor;
  readonly requests = new Requests();
  /** Whether the agent was at work when the connection began. */
  isRunning = false;
  /** Whether pages spoke at the same moment, and this one cannot tell the order of the server any more: only all of it, read anew, can. */
  isBehind = false;
  /** Whether all of a response has come. */
  #isWhole = true;
  /** The calls of the newest message that have ended. */
  readonly #ended = new Set<string>();
  /** The responses that the chat reads now, by number. */
  readonly #streams = new Map<number, ResponseStream>();
  #count = 0;
  /** How many responses are over, but not read to their end. */
  #unread = 0;
  /** What a reset brought, until it can be shown. */
  #anew: Message[] | null = null;
  /** The first message of that reset, when there are others before it. */
  #older: string | undefined;
  readonly #connection: Connection;
  readonly #options: HearingOptions;
  readonly #timers: Timers;
  readonly #tools: ToolListener;

  constructor(connection: Connection, options: HearingOptions, tools: ToolListener) {
    this.#connection = connection;
    this.#options = options;
    this.#tools = tools;
    this.#timers = options.timers ?? systemTimers;
    this.responses = new Responses((toolName) => tools.has(toolName), options.shows);
    this.floor = new Floor(connection.isPosting, this.responses.calls);
    connection.listen((event) => this.#hear(event));
    connection.subscribe(() => this.#watch());
  }

  /** Whether it runs now: what a response asks for goes in one post. */
  runsNow(call: TrackedCall): boolean {
    const isLate = this.#isWhole && !this.responses.hasFailed(call.messageId);
    return this.floor.runs(call) && (isLate || !this.#connection.isPosting);
  }

  /** Opens a response for the chat to read. */
  open(): Opened {
    const number = ++this.#count;
    const { mergeMs = MERGE_MS } = this.#options;
    const stream = new ResponseStream(this.#timers, mergeMs, () => this.leave(number));
    this.#streams.set(number, stream);
    return { number, readable: stream.readable as ReadableStream<UIMessageChunk> };
  }

  /** Whether the chat reads a response, or that one. */
  isRead(number?: number): boolean {
    return number === undefined ? this.#streams.size > 0 : this.#streams.has(number);
  }

  /** Something happens to the responses. */
  push(input: ResponsesInput): void {
    this.#apply(this.responses.push(input));
  }

  /** Another conversation begins. */
  end(): void {
    this.#apply(this.responses.end());
  }

  /** The chat stops reading a response. Says whether it did read it. */
  leave(number: number, isRefused = false): ResponseStream | undefined {
    const stream = this.#take(number);
    this.push({ type: 'leave', response: number, isRefused });
    return stream;
  }

  /** Nobody wants the request of a response any more. Says whether it had not even left. */
  withdraw(number: number): boolean {
    const request = this.requests.of(number);
    if (!request) return false;
    this.requests.take(request.requestId);
    return this.#connection.withdraw(request.requestId);
  }

  #hear(event: ConnectionEvent): void {
    switch (event.type) {
      case 'session': {
        const { running, floor, connectionId, open, received } = event.session;
        this.isRunning = running !== null;
        this.#isWhole = !this.isRunning;
        // A page that is loaded goes on with what it, or nobody, was at.
        if (running !== null && this.floor.connectionId === null) this.floor.claim(running);
        this.#moveFloor(floor, connectionId);
        this.push({ type: 'waiting', calls: open });
        for (const accepted of received) this.#accept(accepted);
        return;
      }
      case 'chunk':
        return this.#hearChunk(event.chunk, event.isReplay === true);
      case 'done':
        this.#isWhole = true;
        return this.push({ type: 'done' });
      case 'frame-end':
        this.#tools.due();
        return this.push({ type: 'frame-end' });
      case 'refused': {
        const code = event.code === ERRORS.too_large.close ? 'too_large' : 'invalid_frame';
        for (const { response } of this.requests.takeAll()) {
          if (response !== undefined) this.#fail(response, new ProtocolError(code, event.reason || code));
        }
        return;
      }
      // Sound is for those who listen to the connection.
      case 'binary':
        return;
      default:
        event satisfies never;
    }
  }

  #hearChunk(chunk: Chunk, isReplay: boolean): void {
    if (chunk.type === 'data-reset') return this.#reset(chunk.data);
    if (chunk.type === 'data-accepted') return this.#accept(chunk.data);
    if (chunk.type === 'data-floor') return this.#moveFloor(chunk.data.connectionId);
    const isEcho = this.#isEcho(chunk);
    if (chunk.type === 'data-rewind') this.isBehind ||= this.responses.kept.length > 0;
    if (chunk.type === 'data-message') this.isBehind ||= !isEcho && this.requests.after([]).length > 0;
    if (isEcho) return;
    if (chunk.type === 'data-decided') {
      // Nobody need send it again.
      const { toolCallId, approved } = chunk.data;
      const answer = { toolCallId, state: 'approval-responded' as const, approval: { approved } };
      this.push({ type: 'answer', answers: [answer] });
    }
    this.push({ type: 'chunk', chunk, isReplay });
    if (chunk.type === 'start') {
      this.#isWhole = false;
      this.#ended.clear();
      this.requests.begin(chunk.messageId);
    }
    if ('transient' in chunk && chunk.transient) this.#options.onData?.(chunk);
    if (chunk.type === 'data-error') this.#refuse(chunk.data);
    const ended = endedCall(chunk);
    if (ended === null) return;
    this.#tools.ended(ended, isReplay);
    if (!isReplay) this.#ended.add(ended);
  }

  /** Whether a chunk tells others what this page did: it shows that already. */
  #isEcho(chunk: Chunk): boolean {
    switch (chunk.type) {
      case 'data-message':
        return this.requests.says(chunk.data.message.id);
      case 'data-rewind':
        return this.requests.says(chunk.data.messageId);
      case 'data-decided': {
        const { toolCallId, approved } = chunk.data;
        const { calls } = this.responses;
        return calls.wasSent(toolCallId, 'decision') && calls.get(toolCallId)?.approved === approved;
      }
      default:
        return false;
    }
  }

  #moveFloor(...to: Parameters<Floor['move']>): void {
    this.floor.move(...to);
    this.#options.onFloor?.(this.floor.isHere, to[0] === null);
  }

  /** The server has a request, and says which message will answer it. */
  #accept({ requestId, messageId }: AcceptedRequest): void {
    if (!this.requests.accept(requestId, messageId) || messageId === undefined) return;
    this.floor.claim(messageId);
    // Over HTTP the answer may come before the word that it will, and calls in it may have ended.
    if (this.responses.hasBegun(messageId)) this.requests.begin(messageId);
    for (const id of this.#ended) this.#tools.ended(id, false);
    this.push({ type: 'accepted', requestId, messageId });
  }

  #refuse(error: DataParts['error']): void {
    const request = this.requests.refuse(error);
    if (!request) return;
    const { response, answers } = request;
    if (error.retryable && answers) this.push({ type: 'unanswer', answers });
    if (response !== undefined) this.#fail(response, toError(error));
  }

  #reset({ messages, older }: DataParts['reset']): void {
    this.#older = older;
    this.#anew = this.requests.after(messages as UIMessage[]) as Message[];
    this.#unread++;
    this.push({ type: 'reset', messages });
    this.#wasRead();
  }

  /** What a chat still reads of a response, it would write over the messages: it hears of them when it has read all. */
  #wasRead(): void {
    if (--this.#unread > 0 || !this.#anew) return;
    const messages = this.#anew;
    this.#anew = null;
    this.#options.onReset?.(messages, this.#older);
  }

  #apply(outputs: ResponsesOutput[]): void {
    for (const output of outputs) {
      if (output.type === 'pending') {
        const { messageId, isNew } = output;
        // A response that just ended is still being worked on; whoever goes on with its message must find all of it.
        this.#timers.after(0, () => {
          if (this.responses.isKept(messageId)) this.#options.onPending?.({ messageId, isNew });
        });
      } else if (output.type === 'end') {
        const stream = this.#take(output.response);
        if (!stream) continue;
        this.#unread++;
        stream.end(() => this.#wasRead());
      } else this.#streams.get(output.response)?.write(output.chunk);
    }
  }

  /** Takes a response out: it is over. */
  #take(number: number): ResponseStream | undefined {
    const stream = this.#streams.get(number);
    this.#streams.delete(number);
    return stream;
  }

  #fail(number: number, error: Error): void {
    const stream = this.leave(number, true);
    this.withdraw(number);
    stream?.fail(error);
  }

  /** The connection changed: one that will not come back by itself fails what is read. */
  #watch(): void {
    const error = endingOf(this.#connection.state);
    if (!error) return;
    for (const number of [...this.#streams.keys()]) this.#fail(number, error);
    this.requests.takeAll();
  }
}
