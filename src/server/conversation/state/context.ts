import type { CallDecider } from '../../../adk/for-server.ts';
import { ProtocolError } from '../../../protocol/index.ts';
import type { Identity } from '../../access/sign-in.ts';
import type { SessionOptions } from '../../engine.ts';
import type { AcceptedRequest } from '../../store/store.ts';
import type { Effect, Purpose, RequestRef, StoreEffect, Wire, Write } from './effects.ts';
import type { Cause, MessageRequest } from './inputs.ts';
import { Policies, type Policy } from './policy.ts';

/** How long to wait before a failed write is retried. */
export const RETRY_MS = 1000;

/** How long a conversation waits for a client to reconnect. */
const GRACE_MS = 60_000;

/** A request that is acknowledged together with the outcome of a call. */
export interface PendingAcknowledgement {
  request: RequestRef;
  accepted: AcceptedRequest;
}

/**
 * The state that all owners share: time and ids, which come from outside, the effects of the current input, whether clients listen, and the policy in
 * force. It calls none of the other owners.
 */
export class Context {
  readonly options: SessionOptions;
  readonly newId: () => string;
  private readonly policies: Policies;
  private time = 0;
  private effects: Effect[] = [];
  /** `leaving`: no client came back, and the agent ends its answer. `abandoned`: nothing runs. `closed`: the process ends, or the session is removed. */
  private life: 'open' | 'leaving' | 'abandoned' | 'closed' = 'open';
  private listened = false;
  /** When the last client left; null while a client listens, or when none ever did. */
  private leftAt: number | null = null;
  private responding = false;

  constructor(options: SessionOptions, newId: () => string) {
    this.options = options;
    this.newId = newId;
    this.policies = new Policies(options);
  }

  get now(): number {
    return this.time;
  }

  /** Sets the time of the input that is being applied. */
  startInput(now: number): void {
    this.time = now;
  }

  newMessageId(): string {
    return `msg_${this.newId()}`;
  }

  /** The policy in force: that of SSE while an HTTP response is being streamed, otherwise that of BIDI. */
  get policy(): Policy {
    return this.policies.for(this.responding ? 'sse' : 'bidi');
  }

  policyFor(wire: Wire): Policy {
    return this.policies.for(wire);
  }

  /** Whether an HTTP response is being streamed. */
  get isResponding(): boolean {
    return this.responding;
  }

  startResponse(): void {
    this.responding = true;
  }

  endResponse(): void {
    this.responding = false;
  }

  /** Whether the session is in use in this process: clients listen, or may reconnect. */
  get isOpen(): boolean {
    return this.life === 'open' || this.life === 'leaving';
  }

  /** Whether every client left, and the session will be abandoned when the agent has ended its answer. */
  get isLeaving(): boolean {
    return this.life === 'leaving';
  }

  /** Whether the process ends, or the session is removed. */
  get isClosed(): boolean {
    return this.life === 'closed';
  }

  /** Whether no client is there and nothing runs. Outcomes are still stored then, but the agent does not continue. */
  get isAbandoned(): boolean {
    return !this.isOpen && !this.responding;
  }

  /** Whether a client listens. */
  get hasListener(): boolean {
    return this.listened;
  }

  /** Records that a client listens. Returns false when the session is closed. */
  join(): boolean {
    if (this.isClosed) return false;
    this.life = 'open';
    this.listened = true;
    this.leftAt = null;
    return true;
  }

  /** Records that the last client left. It may reconnect. */
  leave(): void {
    this.listened = false;
    this.leftAt = this.time;
  }

  /** When the session will be abandoned unless a client reconnects; null while a client listens, or when the session is closed. */
  get abandonsAt(): number | null {
    return this.leftAt === null || this.life !== 'open' ? null : this.leftAt + GRACE_MS;
  }

  /** If no client reconnected in time, lets the session be abandoned when the agent has ended its answer. */
  startLeaving(): void {
    if (this.abandonsAt !== null && this.abandonsAt <= this.time) this.life = 'leaving';
  }

  abandon(): void {
    this.life = 'abandoned';
  }

  close(): void {
    this.life = 'closed';
  }

  emit(effect: Effect): void {
    this.effects.push(effect);
  }

  /** Returns a mark after the effects so far. `takeSince` removes the effects that were emitted after it. */
  mark(): number {
    return this.effects.length;
  }

  /** Removes and returns the effects since a mark, so that the caller can perform them after a write. */
  takeSince(mark: number): Effect[] {
    return this.effects.splice(mark);
  }

  /** Emits writes, followed by `after`. When a write fails, `undo` is written instead of performing `after`. */
  store(writes: Write[], purpose: Purpose | null, after: Effect[] = [], undo: Write[] = []): void {
    const failed: Effect[] =
      undo.length === 0 ? [] : [{ type: 'store', writes: undo, after: [], purpose: null }];
    this.emit({ type: 'store', writes, after, failed, purpose });
  }

  /** Emits writes that are retried once, and `after`, which is performed in any case: a call ends even if its outcome cannot be stored. */
  storeInAnyCase(writes: Write[], after: Effect[], failed = after): void {
    this.emit(storedInAnyCase(writes, after, failed));
  }

  /** Returns the effects since the last call. */
  takeEffects(): Effect[] {
    const { effects } = this;
    this.effects = [];
    return effects;
  }

  /** Reports that a request was handled, so that the client that waits for it may continue. */
  takeRequest(request: RequestRef): void {
    this.emit({ type: 'take-request', request });
  }

  reject(request: RequestRef, error: ProtocolError): void {
    this.emit({ type: 'reject', request, error });
  }

  /** Acknowledges a stored request; does nothing when the client gave no `requestId`. */
  acknowledge(request: RequestRef, accepted: AcceptedRequest | undefined): void {
    if (accepted) this.emit({ type: 'acknowledge', request, accepted });
  }

  /** Stores and acknowledges a request that leads to no other write. */
  storeRequest(request: RequestRef, accepted = acceptedRequest(request)): void {
    if (accepted)
      this.store([{ do: 'accept', accepted }], null, [{ type: 'acknowledge', request, accepted }]);
  }

  /** Reports a request that was stored with the outcome of a call as handled, or rejects it when it could not be stored. */
  settleRequest({ request, accepted }: PendingAcknowledgement, isStored: boolean): void {
    if (!isStored)
      return this.reject(
        request,
        new ProtocolError('internal', 'The answer could not be stored. Please send it again.'),
      );
    this.takeRequest(request);
    this.acknowledge(request, accepted);
  }

  /** Stores and acknowledges a request whose answer no longer changes its call, and reports it as handled. */
  settleRequestAlone({ request, accepted }: PendingAcknowledgement): void {
    this.storeRequest(request, accepted);
    this.takeRequest(request);
  }
}

/** The stored form of a request that has a name: the id of the message that answers it, and how many parts that message has so far. */
export function acceptedRequest(
  { name }: RequestRef,
  messageId: string | null = null,
  parts = 0,
): AcceptedRequest | undefined {
  return name === undefined ? undefined : { requestId: name, messageId, parts };
}

/**
 * What a message answers. Without a request there is neither metadata nor a request for tools. A queued message of an earlier process, and a message that is
 * continued, have their metadata in the store.
 */
export function causeOf(answered: MessageRequest | undefined): Cause {
  if (!answered) return { metadata: {}, request: null };
  const { request, metadata, continues, isStored } = answered;
  const isElsewhere = continues !== undefined || isStored === true;
  return { metadata: metadata ?? (isElsewhere ? null : {}), request: request.forTools ?? null };
}

/** Who decided, as tools get it: without the token of the user. */
export function deciderOf({ user, application }: Identity): CallDecider {
  return application === undefined ? { user } : { application, person: user };
}

/** The effect for writes that are retried once. `after` follows when they succeed, `failed` when they do not. */
export function storedInAnyCase(writes: Write[], after: Effect[], failed = after): Effect {
  const again: StoreEffect = { type: 'store', writes, after, failed, purpose: null };
  return { ...again, failed: [again] };
}
