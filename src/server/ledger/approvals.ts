import { createHash } from 'node:crypto';
import type { Session as AdkSession, Event, EventActions } from '@google/adk';
import {
  answerWithin,
  type FileChunk,
  type Outcome,
  responseEvent,
  toResponse,
  withSavedFiles,
} from '../../adk/for-server.ts';
import { exhaustive } from '../../protocol/exhaustive.ts';
import {
  type Answer,
  APPROVAL_TIMED_OUT,
  type Chunk,
  declinedText,
  denialText,
  INTERRUPTED,
  OUTCOME_UNKNOWN,
  outputTimedOut,
  ProtocolError,
  QUESTION_TIMED_OUT,
  SIGNED_OUT,
} from '../../protocol/index.ts';
import type { Clock } from '../clock.ts';
import type { CallState } from '../conversation/state/call-states.ts';
import { approvalDecided, questionAnswered } from '../events/call-events.ts';
import type { EventSource, PreparedEvent } from '../events/event-hub.ts';
import type {
  AcceptedRequest,
  AuditEntry,
  AuditKind,
  CallRecord,
  CallStatus,
  DecidedBy,
  OwnedKey,
  Store,
} from '../store/store.ts';
import type { RefusedAnswers } from './refused-answers.ts';

/** The result of a decision: it takes effect (`counts`), changes nothing, ends its call, or is refused. */
export type Verdict =
  /** `isRepeated`: the same decision was stored before. */
  | { kind: 'counts'; call: CallRecord; isRepeated: boolean }
  | { kind: 'ignored' }
  /** The user who approved has signed out, so the call has ended. */
  | { kind: 'ended'; call: CallRecord }
  /** `decided`: the stored call, when an earlier decision about it differs. */
  | { kind: 'refused'; why: string; decided?: CallRecord };

/** The steps of the ledger: each moves a call from one status to another, and only if the stored call has the status `from`. */
export const LEDGER = {
  show: { from: 'requested', to: 'requested' },
  expire: { from: 'requested', to: 'expired' },
  answer: { from: 'requested', to: 'running' },
  decline: { from: 'requested', to: 'denied' },
  ask: { from: 'running', to: 'requested' },
  'sign-out-asked': { from: 'requested', to: 'expired' },
  'sign-out-approved': { from: 'approved', to: 'expired' },
  consume: { from: 'approved', to: 'running' },
  take: { from: 'ready', to: 'running' },
  park: { from: 'running', to: 'parked' },
  /** An agent that is used as a tool continues, because the calls inside it have ended. */
  resume: { from: 'parked', to: 'ready' },
  /** An earlier process died while an agent that is used as a tool ran. The run of the agent continues from its stored events. */
  restart: { from: 'running', to: 'ready' },
} as const satisfies Record<string, { from: CallStatus; to: CallStatus }>;

/** What each status of a call means for a new decision. `used`: the approval was consumed, or the call has ended or needs no approval. */
const FOUND: Readonly<Record<CallStatus, 'undecided' | 'approved' | 'denied' | 'expired' | 'used'>> = {
  requested: 'undecided',
  approved: 'approved',
  denied: 'denied',
  expired: 'expired',
  ready: 'used',
  running: 'used',
  parked: 'used',
  settled: 'used',
};

/** The stored decision about a call; null when no decision is stored, or when the approval was consumed. */
export function decisionIn({ status }: CallRecord): boolean | null {
  return status === 'approved' || status === 'denied' ? status === 'approved' : null;
}

/** Whether a stored call waits for a decision or an answer of the user. */
export function isUndecided({ status }: CallRecord): boolean {
  return status === 'requested';
}

/** The error text of a call that the user did not decide or answer in time. */
export function timeoutText({ approvalId }: CallRecord): string {
  return approvalId === null ? QUESTION_TIMED_OUT : APPROVAL_TIMED_OUT;
}

/** The outcome of a call that timed out; null when a call with this status cannot time out. */
export function timeoutOutcome(call: CallRecord): Failure | null {
  const { status, runsOn, toolName } = call;
  if (status === 'requested') return { kind: 'error', errorText: timeoutText(call) };
  return status === 'parked' || (status === 'running' && runsOn === 'client')
    ? { kind: 'error', errorText: outputTimedOut(toolName) }
    : null;
}

/** The outcome of a call that a process left open when it died; null when the call stays open. */
export function unfinishedOutcome(call: CallRecord): CallOutcome | null {
  const { status, reason, runsOn, approvalId, agents } = call;
  if (status === 'denied' && approvalId !== null) return { kind: 'denied', reason };
  if (status === 'denied') return { kind: 'error', errorText: reason ?? declinedText() };
  if (status === 'expired') return { kind: 'error', errorText: reason ?? timeoutText(call) };
  const isLost = status === 'running' && runsOn === 'server' && !agents?.isAgent;
  return isLost ? { kind: 'error', errorText: OUTCOME_UNKNOWN } : null;
}

/** The state of a call that another process left open. `isShown`: whether its message shows its approval request or question. */
export function stateOf(
  { status, runsOn }: CallRecord,
  isShown: boolean,
): Exclude<CallState, 'issuing' | 'ending' | 'settled'> {
  switch (status) {
    case 'requested':
      return isShown ? 'asked' : 'queued';
    case 'approved':
    case 'denied':
    case 'ready':
    case 'parked':
      return status;
    default:
      return runsOn === 'client' ? 'client' : 'running';
  }
}

/** The SHA-256 of the arguments as JSON with sorted keys, so that equal arguments have equal hashes. */
export function hashArgs(args: unknown): string {
  return createHash('sha256').update(canonicalJson(args)).digest('hex');
}

/** The objects that the `Approvals` of all sessions share. The engine has them. */
export interface LedgerContext {
  store: Store;
  clock: Clock;
  refusals: RefusedAnswers;
  events: EventSource;
  /** `proves`: whether an answer shows that the user has signed in for a call. */
  toolSignIns: { proves(call: CallRecord, answer: unknown): boolean };
}

/**
 * The ledger of one session: its approvals, and the answers to its questions. A step is stored together with its audit line before it takes effect,
 * and only if the stored call still has the expected status.
 */
export class Approvals {
  private readonly store: Store;
  private readonly key: OwnedKey;
  private readonly clock: Clock;
  private readonly refusals: RefusedAnswers;
  private readonly events: EventSource;
  private readonly toolSignIns: LedgerContext['toolSignIns'];

  constructor({ store, clock, refusals, events, toolSignIns }: LedgerContext, key: OwnedKey) {
    this.store = store;
    this.key = key;
    this.clock = clock;
    this.refusals = refusals;
    this.events = events;
    this.toolSignIns = toolSignIns;
  }

  /**
   * Applies a decision to the call that it names. `accepted`: the request with the decision; its acceptance is stored together with the decision. `by`:
   * the application and the person, when an application decides in the name of a person.
   */
  async decide(
    answer: Extract<Answer, { kind: 'decision' }>,
    isShown: (call: CallRecord) => boolean,
    accepted?: AcceptedRequest,
    by?: DecidedBy,
  ): Promise<Verdict> {
    const call = await this.find(answer);
    const refuse = (call: CallRecord | null, why: string) => this.refuse(answer, call, why, by);
    if (!call || call.approvalId === null) return refuse(null, 'no such approval');
    const wanted = answer.approved ? 'approved' : 'denied';
    const found = FOUND[call.status];
    if (found === 'used') return { kind: 'ignored' };
    // The client repeats its decision, for instance because it lost its connection before the acknowledgement.
    if (found === wanted) return { kind: 'counts', call, isRepeated: true };
    if (found === 'expired') return refuse(call, 'expired');
    if (found !== 'undecided') return { ...(await refuse(call, `already ${found}`)), decided: call };
    if (!isShown(call)) return refuse(call, 'not asked yet');
    if (answer.approvalId !== undefined && !namesCall(answer, call)) {
      return refuse(call, 'belongs to another call');
    }
    if (answer.input !== undefined && hashArgs(answer.input) !== call.argsHash) {
      return refuse(call, 'arguments differ from those that were asked about');
    }
    if (call.expiresAt !== null && call.expiresAt <= this.clock.now()) {
      await this.expire(call);
      return refuse(call, 'expired');
    }
    // Only the sign-in provider can prove that the user has signed in, so a client alone cannot approve such a call.
    const needsProof = answer.approved && call.question?.kind === 'sign-in';
    if (needsProof && !this.toolSignIns.proves(call, answer.payload))
      return refuse(call, 'the sign-in at the address of the request is not complete');
    const event = this.decided(call, wanted, by ?? { user: this.key.user });
    const decided = await this.store.decideCall(
      this.key,
      {
        id: call.id,
        to: wanted,
        reason: answer.reason ?? null,
        ...(answer.payload === undefined ? {} : { answer: answer.payload }),
      },
      lineFor(wanted, call, answer.reason ?? null, by),
      accepted,
      event?.outbox,
    );
    if (decided) event?.happened();
    return decided ? { kind: 'counts', call: decided, isRepeated: false } : { kind: 'ignored' };
  }

  /** Refuses a decision of a user who has signed out. An approval ends its call, and then the call is returned; otherwise null. */
  async refuseSignedOut(
    answer: Extract<Answer, { kind: 'decision' }>,
    isShown: (call: CallRecord) => boolean,
  ): Promise<CallRecord | null> {
    const call = await this.find(answer);
    const isAnswerable = call && FOUND[call.status] === 'undecided' && isShown(call) && answer.approved;
    const ended = isAnswerable ? await this.signedOut(call, 'sign-out-asked') : null;
    if (!ended) await this.refuse(answer, call?.approvalId ? call : null, SIGNED_OUT);
    return ended;
  }

  /** Ends a call, because the user who approved it has signed out. Returns null when the stored call no longer has the status from which `step` starts. */
  async signedOut(
    call: CallRecord,
    step: 'sign-out-asked' | 'sign-out-approved',
  ): Promise<CallRecord | null> {
    const event = step === 'sign-out-asked' ? this.decided(call, 'expired', null) : null;
    const moved = await this.store.moveCall(
      this.key,
      { id: call.id, ...LEDGER[step], reason: SIGNED_OUT },
      lineFor('refused', call, SIGNED_OUT),
      undefined,
      event?.outbox,
    );
    if (moved) event?.happened();
    return moved;
  }

  /** Consumes an approval, so that its tool may run. Returns the call to the first caller, and null to every later one. */
  async consume(call: CallRecord, expiresAt: number | null): Promise<CallRecord | null> {
    return this.store.moveCall(
      this.key,
      { id: call.id, ...LEDGER.consume, expiresAt },
      lineFor('consumed', call, null),
    );
  }

  /** Expires an approval request or a question. Returns null when the stored call no longer waits for the user. */
  async expire(call: CallRecord, reason: string | null = null): Promise<CallRecord | null> {
    const event =
      call.approvalId === null ? this.answered(call, 'expired') : this.decided(call, 'expired', null);
    const expired = await this.store.moveCall(
      this.key,
      { id: call.id, ...LEDGER.expire, reason },
      lineFor('expired', call, reason),
      undefined,
      event?.outbox,
    );
    if (expired) event?.happened();
    return expired;
  }

  /**
   * Records a step of a question: the user answered it, declined it, or sent an answer that does not fit (`refuse`). `ask`: a running tool asks for
   * approval.
   */
  async record(
    step: 'answer' | 'decline' | 'refuse' | 'ask',
    call: CallRecord,
    reason: string | null,
  ): Promise<void> {
    const { id, approvalId, question } = call;
    if (step === 'refuse') return this.refusals.write(this.key, lineFor('refused', call, reason));
    const line = lineFor(
      ({ answer: 'answered', decline: 'denied', ask: 'issued' } as const)[step],
      call,
      reason,
    );
    const asks = step === 'ask' && approvalId !== null && question ? { asks: { approvalId, question } } : {};
    const outcome = ({ answer: 'answered', decline: 'declined', ask: null } as const)[step];
    const event = outcome && this.answered(call, outcome);
    const move = { id, ...LEDGER[step], reason, ...asks };
    const moved = await this.store.moveCall(this.key, move, line, undefined, event?.outbox);
    if (moved) event?.happened();
  }

  /** The event for a decision about a call; null when the application does not want events. */
  private decided(
    call: CallRecord,
    decision: 'approved' | 'denied' | 'expired',
    by: { user: string } | DecidedBy | null,
  ): PreparedEvent | null {
    return this.events.isIdle ? null : approvalDecided(this.events, this.key, call, { decision, by });
  }

  /** The event for the end of a question; null when the application does not want events. */
  private answered(call: CallRecord, outcome: 'answered' | 'declined' | 'expired'): PreparedEvent | null {
    return this.events.isIdle ? null : questionAnswered(this.events, this.key, call, outcome);
  }

  private find({
    toolCallId,
    approvalId,
  }: Extract<Answer, { kind: 'decision' }>): Promise<CallRecord | null> {
    return this.store.findCall(this.key, approvalId === undefined ? { id: toolCallId } : { approvalId });
  }

  private async refuse(
    answer: Extract<Answer, { kind: 'decision' }>,
    call: CallRecord | null,
    why: string,
    by?: DecidedBy,
  ): Promise<Extract<Verdict, { kind: 'refused' }>> {
    const line: AuditEntry = call
      ? lineFor('refused', call, why, by)
      : {
          kind: 'refused',
          approvalId: answer.approvalId?.slice(0, 256) ?? null,
          toolCallId: answer.toolCallId.slice(0, 256),
          toolName: null,
          argsHash: null,
          args: null,
          reason: why,
          ...(by && { by }),
        };
    await this.refusals.write(this.key, line);
    return { kind: 'refused', why };
  }
}

/** Whether a decision names this call: by the id of the call, or with `confirmations: 'tool'` by the id of its confirmation. */
function namesCall(answer: { toolCallId: string }, call: CallRecord): boolean {
  return answer.toolCallId === call.id || answer.toolCallId === call.approvalId;
}

function lineFor(kind: AuditKind, call: CallRecord, reason: string | null, by?: DecidedBy): AuditEntry {
  return {
    kind,
    approvalId: call.approvalId,
    toolCallId: call.id,
    toolName: call.toolName,
    argsHash: call.argsHash,
    args: call.args,
    reason,
    ...(by && { by }),
  };
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** The error for answers to a session that has no open call. */
export class NothingOpen extends ProtocolError {
  constructor() {
    super('nothing_to_answer', 'The last message answers no call that is open.');
  }
}

/**
 * The outcome of a call: an output, a denial, or an error text. With an output, `actions` are the state changes of the tool. `session` is the session
 * as the tool read it, with which the store finds conflicting changes.
 */
export type CallOutcome =
  | { kind: 'output'; output: unknown; actions?: EventActions; session?: AdkSession; files?: FileChunk[] }
  | Failure
  | { kind: 'denied'; reason: string | null };

/** The outcome of a call that ended with an error. */
export interface Failure {
  kind: 'error';
  errorText: string;
  interrupted?: true;
  declined?: true;
  /** The files that the tool saved before it failed. */
  files?: FileChunk[];
}

/** The outcome of a call that an interruption ended. */
export const INTERRUPTION: CallOutcome = { kind: 'error', errorText: INTERRUPTED, interrupted: true };

/** The outcome of a call whose approver has signed out. */
export const SIGNED_OUT_END: Failure = { kind: 'error', errorText: SIGNED_OUT };

/** Converts the outcome of a tool to that of its call. The outcome `waits` of a long-running tool gives the output null. */
export function outcomeOf(outcome: Exclude<Outcome, { kind: 'asks' }>): CallOutcome {
  return outcome.kind === 'waits' ? { kind: 'output', output: null } : outcome;
}

/** The function response with which the model gets the outcome of a call. */
export function responseOf(outcome: CallOutcome): Record<string, unknown> {
  switch (outcome.kind) {
    case 'output':
      return toResponse(outcome.output);
    case 'error':
      return { error: outcome.errorText, ...(outcome.interrupted ? { interrupted: true } : {}) };
    case 'denied':
      return { error: denialText(outcome.reason ?? undefined) };
    default:
      return exhaustive(outcome);
  }
}

/** Creates the event that adds the response of a call to the history. Its metadata (`settled`) names the kind of the outcome. */
export function endEvent(call: CallRecord, outcome: CallOutcome): Event {
  const { id, toolName: name } = call;
  const response = responseOf(outcome);
  const isOutput = outcome.kind === 'output';
  const event = responseEvent(call, [{ id, name, response }], isOutput ? outcome.actions : undefined, {
    settled: outcome.kind,
    ...(outcome.kind === 'denied' ? {} : withSavedFiles(outcome.files ?? [])),
    ...(isOutput && response !== outcome.output ? { wrapped: true } : {}),
  });
  const within = call.agents?.within;
  return within ? answerWithin(event, within) : event;
}

/** The chunk with which clients get the outcome of a call. */
export function outputChunk(
  toolCallId: string,
  outcome: CallOutcome,
  denials: 'tool-output-error' | 'tool-output-denied',
): Chunk {
  switch (outcome.kind) {
    case 'output':
      return { type: 'tool-output-available', toolCallId, output: outcome.output ?? null };
    case 'error':
      return { type: 'tool-output-error', toolCallId, errorText: outcome.errorText };
    case 'denied':
      return denials === 'tool-output-denied'
        ? { type: 'tool-output-denied', toolCallId }
        : { type: 'tool-output-error', toolCallId, errorText: denialText(outcome.reason ?? undefined) };
    default:
      return exhaustive(outcome);
  }
}
