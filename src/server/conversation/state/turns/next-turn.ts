import { fingerprint } from '../../../files.ts';
import type { RequestRef } from '../effects.ts';
import type { AnswersRequest, MessageRequest, TurnRequest } from '../inputs.ts';

/** The largest number of messages that may wait for the agent. */
const MAX_QUEUED = 16;

/** The requests that wait for the agent, in order. A stored message whose start failed returns to the front. */
export class MessageQueue {
  private requests: TurnRequest[];
  /** The stored messages that are starting, by the id of their request. */
  private readonly starting = new Map<number, MessageRequest>();
  private retriesAt: number | null = null;

  constructor(stored: readonly MessageRequest[]) {
    this.requests = [...stored];
  }

  get isEmpty(): boolean {
    return this.requests.length === 0;
  }

  get isFull(): boolean {
    return this.requests.length >= MAX_QUEUED;
  }

  get first(): TurnRequest | undefined {
    return this.requests[0];
  }

  get last(): TurnRequest | undefined {
    return this.requests.at(-1);
  }

  find(isSuch: (request: TurnRequest) => boolean): TurnRequest | undefined {
    return this.requests.find(isSuch);
  }

  add(request: TurnRequest): void {
    this.requests.push(request);
  }

  /** Replaces the last request by the stored form of the same message. */
  replaceLast(request: MessageRequest): void {
    this.requests[this.requests.length - 1] = request;
  }

  /** Removes and returns the first request that `isSuch` accepts. */
  take(isSuch: (request: TurnRequest) => boolean): TurnRequest | undefined {
    const index = this.requests.findIndex(isSuch);
    return index === -1 ? undefined : this.requests.splice(index, 1)[0];
  }

  /** Removes and returns every request. */
  takeAll(): TurnRequest[] {
    return this.requests.splice(0);
  }

  /** Removes and returns the stored copies of a message that the client has sent again with POST, so that it is answered once. */
  takeCopies({ id, parts }: MessageRequest): TurnRequest[] {
    const words = fingerprint(parts);
    const isCopy = (one: TurnRequest) =>
      one.kind === 'message' && one.isStored && one.id === id && fingerprint(one.parts) === words;
    const copies = this.requests.filter(isCopy);
    this.requests = this.requests.filter((one) => !isCopy(one));
    return copies;
  }

  /** Records that a message is starting. A stored message is remembered until it has started, for `takeStarting`. */
  starts(message: MessageRequest): void {
    if (message.isStored) this.starting.set(message.request.id, message);
  }

  started({ id }: RequestRef): void {
    this.starting.delete(id);
  }

  /** Called when a message could not start. Removes and returns the message; undefined when the message was not stored before its start. */
  takeStarting({ id }: RequestRef): MessageRequest | undefined {
    const message = this.starting.get(id);
    this.starting.delete(id);
    return message;
  }

  /** Removes and returns the stored messages with this id that are starting. */
  takeStartingById(id: string): MessageRequest[] {
    const found = [...this.starting.values()].filter((message) => message.id === id);
    for (const { request } of found) this.starting.delete(request.id);
    return found;
  }

  /** Puts a message back to the front of the queue. */
  putBack(message: MessageRequest): void {
    this.requests.unshift(message);
  }

  /** When the queue continues after a failed start; null when it is not delayed. */
  get retryAt(): number | null {
    return this.retriesAt;
  }

  /** Delays the queue until this time; null ends the delay. */
  setRetryAt(at: number | null): void {
    this.retriesAt = at;
  }
}

/**
 * A request that is starting. `finding`: the message that it continues is being read. `waiting`: the run of another turn must end first, or the store
 * is being asked whether the user decided or answered calls in time. `reading`: answers that a client sent with POST are being read. `storing`: a user
 * message is being stored. `stored`: the user message is stored, and the agent gets it when a live run is open.
 */
export type StartingRequest =
  | { is: 'finding'; request: MessageRequest; isInterrupted: boolean }
  | { is: 'waiting'; request: TurnRequest }
  | { is: 'reading'; request: AnswersRequest; isInterrupted: boolean }
  | { is: 'storing'; request: MessageRequest; id: string; isInterrupted: boolean }
  | { is: 'stored'; request: MessageRequest; id: string };

/** The request that is starting; at most one. */
export class Starting {
  private starting: StartingRequest | null = null;

  get current(): Readonly<StartingRequest> | null {
    return this.starting;
  }

  get request(): TurnRequest | null {
    return this.starting?.request ?? null;
  }

  /** Whether this request is the one that is starting. */
  isOf({ id }: RequestRef): boolean {
    return this.starting?.request.request.id === id;
  }

  set(starting: StartingRequest): void {
    this.starting = starting;
  }

  clear(): void {
    this.starting = null;
  }

  /** Records an interruption by the user: a request that is being looked up, read or stored is interrupted as soon as it has started. */
  interrupt(): void {
    if (this.starting && 'isInterrupted' in this.starting) this.starting.isInterrupted = true;
  }

  /** Call it when the answers of a POST have been read. Returns whether the user interrupted meanwhile. */
  finishReading(): boolean {
    const { starting } = this;
    this.starting = null;
    return starting?.is === 'reading' && starting.isInterrupted;
  }

  /** Marks a message that could not be stored in the queue: it is stored when it starts. */
  markUnstored(id: string): void {
    const { starting } = this;
    if (starting?.is !== 'waiting' || starting.request.kind !== 'message') return;
    const { isStored: _, ...request } = starting.request;
    if (request.id === id) this.starting = { is: 'waiting', request };
  }
}
