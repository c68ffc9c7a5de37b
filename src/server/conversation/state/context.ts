import type { CallDecider } from '../../../adk/for-server.ts';
import { ProtocolError } from '../../../protocol/index.ts';
import type { Identity } from '../../access/sign-in.ts';
import type { SessionOptions } from '../../engine.ts';
import { type CallOutcome, isUndecided } from '../../ledger/approvals.ts';
import type { AcceptedRequest, CallRecord } from '../../store/store.ts';
import type { Effect, Purpose, RequestRef, StoreEffect, Wire, Write } from './effects.ts';
import type { Cause, MessageRequest } from './inputs.ts';
import { Policies, type Policy } from './policy.ts';

/** How long the server waits before it retries the start of a call or of a stored message. */
export const RETRY_MS = 1000;

/** How long the conversation waits for a client to return after the last listener left. Then it closes the agent's run, once the agent is idle. */
const GRACE_MS = 60_000;

/** A request with an answer to a call. It is acknowledged when the outcome of the call is stored. */
export interface PendingAcknowledgement {
  request: RequestRef;
  accepted: AcceptedRequest;
}

/**
 * The part of the state that all other owners use: the time of the current input, the source of ids, the effects of the current input, whether
 * clients listen, and the policy in force. It calls no other owner.
 */
export class Context {
  readonly options: SessionOptions;
  readonly newId: () => string;
  private readonly policies: Policies;
  private time = 0;
  private effects: Effect[] = [];
  /**
   * `leaving`: no client returned in time, and the agent may still end its answer. `abandoned`: no client returned, and nothing runs. `closed`: the process
   * ends, hands the session over, or removes it.
   */
  private life: 'open' | 'leaving' | 'abandoned' | 'closed' = 'open';
  private listened = false;
  /** When the last client left; null while a client listens, and before the first client has listened. */
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

  /** Whether the session is neither abandoned nor closed. */
  get isOpen(): boolean {
    return this.life === 'open' || this.life === 'leaving';
  }

  /** Whether no client returned in time. The session is abandoned as soon as the agent has ended its answer. */
  get isLeaving(): boolean {
    return this.life === 'leaving';
  }

  /** Whether the process ends, hands the session over, or removes it. */
  get isClosed(): boolean {
    return this.life === 'closed';
  }

  /** Whether the agent must not continue: the session is abandoned or closed, and no HTTP response is being streamed. Outcomes of calls are still stored. */
  get isAbandoned(): boolean {
    return !this.isOpen && !this.responding;
  }

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

  /** Records that the last listener left. */
  leave(): void {
    this.listened = false;
    this.leftAt = this.time;
  }

  /** When the conversation stops waiting for a client to return; null when it is not waiting. */
  get abandonsAt(): number | null {
    return this.leftAt === null || this.life !== 'open' ? null : this.leftAt + GRACE_MS;
  }

  /** If no client returned in time, marks the session as leaving. */
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

  /** Returns a mark at the end of the effects so far, for `takeSince`. */
  mark(): number {
    return this.effects.length;
  }

  /** Removes and returns the effects that were emitted after the mark, so that the caller can emit them with the write that they must follow. */
  takeSince(mark: number): Effect[] {
    return this.effects.splice(mark);
  }

  /** Emits writes, followed by `after`. When a write fails, the writes `undo` are performed instead of `after`. */
  store(writes: Write[], purpose: Purpose | null, after: Effect[] = [], undo: Write[] = []): void {
    const failed: Effect[] =
      undo.length === 0 ? [] : [{ type: 'store', writes: undo, after: [], purpose: null }];
    this.emit({ type: 'store', writes, after, failed, purpose });
  }

  /**
   * Emits writes that are tried a second time when they fail. `after` is performed when they succeed, `failed` when the second attempt fails too.
   * Both are the same by default, because a call ends even if its outcome cannot be stored.
   */
  storeInAnyCase(writes: Write[], after: Effect[], failed = after): void {
    this.emit(storedInAnyCase(writes, after, failed));
  }

  /** Removes and returns all effects that were emitted. */
  takeEffects(): Effect[] {
    const { effects } = this;
    this.effects = [];
    return effects;
  }

  /** Resolves the promise of a request (`PendingRequest.taken`), because the state has handled the request. */
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

  /** Stores and acknowledges a request that leads to no other write. Does nothing when the client gave no `requestId`. */
  storeRequest(request: RequestRef, accepted = acceptedRequest(request)): void {
    if (accepted)
      this.store([{ do: 'accept', accepted }], null, [{ type: 'acknowledge', request, accepted }]);
  }

  /** Ends the handling of a request whose answer ended a call: acknowledges the request if the outcome was stored, and rejects it otherwise. */
  settleRequest({ request, accepted }: PendingAcknowledgement, isStored: boolean): void {
    if (!isStored)
      return this.reject(
        request,
        new ProtocolError('internal', 'The answer could not be stored. Please send it again.'),
      );
    this.takeRequest(request);
    this.acknowledge(request, accepted);
  }

  /** Stores and acknowledges a request that no other write stores, and ends its handling. */
  settleRequestAlone({ request, accepted }: PendingAcknowledgement): void {
    this.storeRequest(request, accepted);
    this.takeRequest(request);
  }
}

/**
 * Returns the stored form of a request: the id of the message that answers it, and how many parts that message had before the request. Undefined for
 * a request without a name, which is not stored.
 */
export function acceptedRequest(
  { name }: RequestRef,
  messageId: string | null = null,
  parts = 0,
): AcceptedRequest | undefined {
  return name === undefined ? undefined : { requestId: name, messageId, parts };
}

/**
 * Returns the cause of the message that answers a request. The metadata is null if it is not in the request but may be in the store, because
 * the request continues a message or its user message is already stored. Without a request the metadata is empty.
 */
export function causeOf(answered: MessageRequest | undefined): Cause {
  if (!answered) return { metadata: {}, request: null };
  const { request, metadata, continues, isStored } = answered;
  const isElsewhere = continues !== undefined || isStored === true;
  return { metadata: metadata ?? (isElsewhere ? null : {}), request: request.forTools ?? null };
}

/** Converts an identity to the form in which tools get it: without the token of the user. */
export function deciderOf({ user, application }: Identity): CallDecider {
  return application === undefined ? { user } : { application, person: user };
}

/** The effect that `storeInAnyCase` emits. */
export function storedInAnyCase(writes: Write[], after: Effect[], failed = after): Effect {
  const again: StoreEffect = { type: 'store', writes, after, failed, purpose: null };
  return { ...again, failed: [again] };
}

/**
 * The writes that store the outcome of a call. If the user has not decided or answered the call, they also end its approval request or question.
 * `accepted`: the request whose acceptance is stored with the outcome.
 */
export function outcomeWrites(call: CallRecord, outcome: CallOutcome, accepted?: AcceptedRequest): Write[] {
  return [
    ...(isUndecided(call) ? decidingWrites(call, outcome) : []),
    { do: 'append-outcome', call, outcome, accepted },
  ];
}

/** The ledger writes for an undecided call that ends: its question was answered or declined, or its question or approval request expires. */
function decidingWrites(call: CallRecord, outcome: CallOutcome): Write[] {
  if (outcome.kind === 'error')
    return [{ do: outcome.declined ? 'decline' : 'expire', call, reason: outcome.errorText }];
  return outcome.kind === 'output' && call.approvalId === null ? [{ do: 'answer', call, reason: null }] : [];
}
