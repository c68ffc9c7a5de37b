import type { Session as AdkSession, BaseSessionService, EventActions } from '@google/adk';
import { type DeferredCall, type Outcome, responseEvent, toResponse } from '../adk/engine.ts';
import {
  type Answer,
  APPROVAL_TIMED_OUT,
  type Chunk,
  denialText,
  MessageFold,
  OUTCOME_UNKNOWN,
  outputTimedOut,
} from '../protocol/index.ts';
import { Approvals, hashArgs } from './approvals.ts';
import type { Clock } from './clock.ts';
import type { Output } from './output.ts';
import type { CallRecord, SessionKey, Store } from './store/store.ts';

/** How a call ends: the tool's outcome, a denial, or a text that says why there is none. */
export type Settlement =
  | { kind: 'output'; output: unknown; actions?: EventActions }
  | { kind: 'error'; errorText: string; interrupted?: true }
  | { kind: 'denied'; reason: string | null };

/** What an answer lets happen next. */
export type Step =
  | { call: CallRecord; next: 'run' }
  | { call: CallRecord; next: 'await-client' }
  | { call: CallRecord; next: 'settle'; settlement: Settlement };

/** What came of a set of answers. */
export interface Answered {
  steps: Step[];
  /** Why answers were refused, in words for the client. */
  refused: string[];
}

/** What the calls of a session need from around them. */
export interface CallsContext {
  key: SessionKey;
  store: Store;
  clock: Clock;
  newId: () => string;
  output: Output;
  sessionService: BaseSessionService;
  adkSession: () => Promise<AdkSession>;
  /** How a denial is written: as an error with its text, or as the SDK's own `tool-output-denied`. */
  denials: 'tool-output-error' | 'tool-output-denied';
  clientTimeoutMs: number | null;
}

/** Answers of one message that are read; nobody waits for more at once. */
const MAX_ANSWERS = 100;

/** The calls of a session that wait for the person, the browser or a running tool. */
export class Calls {
  readonly approvals: Approvals;
  private readonly context: CallsContext;
  private readonly open = new Map<string, CallRecord>();
  private readonly shown = new Set<string>();

  constructor(context: CallsContext) {
    this.context = context;
    this.approvals = new Approvals(context.store, context.key, () => context.clock.now());
  }

  get all(): CallRecord[] {
    return [...this.open.values()];
  }

  get size(): number {
    return this.open.size;
  }

  get(id: string): CallRecord | undefined {
    return this.open.get(id);
  }

  /** Writes a call down; only then may anyone hear of it. */
  async issue(call: DeferredCall, messageId: string): Promise<CallRecord> {
    const { key, store, clock, newId } = this.context;
    const now = clock.now();
    const record: CallRecord = {
      id: call.id,
      approvalId: call.asks ? `approval_${newId()}` : null,
      toolName: call.toolName,
      args: call.args,
      argsHash: hashArgs(call.args),
      runsOn: call.runsOn,
      status: call.asks ? 'requested' : 'running',
      reason: null,
      messageId,
      agent: call.agent,
      invocationId: call.invocationId,
      branch: call.branch ?? null,
      issuedAt: now,
      expiresAt: call.asks || call.runsOn === 'server' ? null : this.clientDeadline(now),
    };
    await store.issueCalls(key, [record]);
    this.open.set(record.id, record);
    return record;
  }

  /** The card is on its way: from now on the call may be answered. */
  async show(call: CallRecord, expiresAt: number | null): Promise<CallRecord> {
    this.shown.add(call.id);
    if (expiresAt === null) return call;
    const { key, store } = this.context;
    const moved = await store.moveCall(
      key,
      { id: call.id, from: 'requested', to: 'requested', expiresAt },
      null,
    );
    return this.keep(moved ?? call);
  }

  isShown(call: CallRecord): boolean {
    return this.shown.has(call.id);
  }

  /** Applies what the client said, and tells what may happen next, in the order of the calls. */
  async answer(given: Answer[]): Promise<Answered> {
    const answers = given.slice(0, MAX_ANSWERS);
    const { output } = this.context;
    const steps = new Map<string, Step>();
    const refused: string[] = [];
    const decided = new Set<string>();
    for (const answer of answers.map((one) => this.asDecision(one))) {
      if (answer.kind !== 'decision') continue;
      const verdict = await this.approvals.decide(answer, (call) => this.shown.has(call.id));
      if (verdict.kind === 'refused') {
        refused.push(verdict.why);
        continue;
      }
      if (verdict.kind === 'ignored' || !this.open.has(verdict.call.id)) continue;
      const call = this.keep(verdict.call);
      (await output.open(call.messageId))?.decide(call.id, answer.approved, answer.reason);
      decided.add(call.messageId);
      if (call.status === 'denied') {
        steps.set(call.id, { call, next: 'settle', settlement: { kind: 'denied', reason: call.reason } });
      } else steps.set(call.id, { call, next: call.runsOn === 'server' ? 'run' : 'await-client' });
    }
    // A tool may run for long, or for ever: whoever looks meanwhile sees what was decided.
    for (const messageId of decided) await output.save(messageId);
    for (const answer of answers) {
      if (answer.kind === 'decision') continue;
      const call = this.open.get(answer.toolCallId);
      // Only what runs in the browser may be answered by it; a claimed output of a server tool is not even looked at.
      if (call?.runsOn !== 'client') continue;
      if (call.status !== 'running' && call.status !== 'approved') continue;
      if (answer.input !== undefined && hashArgs(answer.input) !== call.argsHash) {
        refused.push('arguments differ from those of the call');
        continue;
      }
      const settlement: Settlement =
        answer.kind === 'output'
          ? { kind: 'output', output: answer.output }
          : { kind: 'error', errorText: answer.errorText };
      steps.set(call.id, { call, next: 'settle', settlement });
    }
    const order = [...this.open.keys()];
    return {
      steps: [...steps.values()].sort((a, b) => order.indexOf(a.call.id) - order.indexOf(b.call.id)),
      refused,
    };
  }

  /** Takes the approval of a call for use; null when someone else did. */
  async consume(call: CallRecord): Promise<CallRecord | null> {
    const deadline = call.runsOn === 'client' ? this.clientDeadline(this.context.clock.now()) : null;
    const moved = await this.approvals.consume(call, deadline);
    return moved ? this.keep(moved) : null;
  }

  /** Ends a call: its response enters the history, with what the tool changed, in one transaction; then it is told. */
  async settle(call: CallRecord, settlement: Settlement): Promise<Record<string, unknown> | null> {
    if (!this.open.has(call.id)) return null;
    if (call.status === 'requested' && settlement.kind === 'error') {
      await this.approvals.expire(call, settlement.errorText);
    }
    const { sessionService, adkSession } = this.context;
    const response = responseOf(settlement);
    const actions = settlement.kind === 'output' ? settlement.actions : undefined;
    const event = responseEvent(call, [{ id: call.id, name: call.toolName, response }], actions, {
      settled: settlement.kind,
      ...(settlement.kind === 'output' && response !== settlement.output ? { wrapped: true } : {}),
    });
    await sessionService.appendEvent({ session: await adkSession(), event });
    this.open.delete(call.id);
    this.shown.delete(call.id);
    return response;
  }

  /** The chunk that tells how a call ended. */
  chunkOf(call: CallRecord, settlement: Settlement): Chunk {
    const toolCallId = call.id;
    switch (settlement.kind) {
      case 'output':
        return { type: 'tool-output-available', toolCallId, output: settlement.output ?? null };
      case 'error':
        return { type: 'tool-output-error', toolCallId, errorText: settlement.errorText };
      case 'denied':
        return this.context.denials === 'tool-output-denied'
          ? { type: 'tool-output-denied', toolCallId }
          : { type: 'tool-output-error', toolCallId, errorText: denialText(settlement.reason ?? undefined) };
    }
  }

  /** The calls whose time is up, with how they end. */
  overdue(): { call: CallRecord; settlement: Settlement }[] {
    const now = this.context.clock.now();
    return this.all.flatMap((call) => {
      if (call.expiresAt === null || call.expiresAt > now) return [];
      if (call.status === 'requested')
        return [{ call, settlement: { kind: 'error', errorText: APPROVAL_TIMED_OUT } }];
      if (call.runsOn === 'client' && call.status === 'running') {
        return [{ call, settlement: { kind: 'error', errorText: outputTimedOut(call.toolName) } }];
      }
      return [];
    });
  }

  /** When the next call runs out of time; null when none does. */
  nextDeadline(): number | null {
    const times = this.all.flatMap((call) => (call.expiresAt === null ? [] : [call.expiresAt]));
    return times.length === 0 ? null : Math.min(...times);
  }

  /**
   * Takes up what another process left: calls that wait are open again; a tool that was running on the server when that
   * process died has an unknown outcome and is not run again.
   */
  async recover(): Promise<void> {
    const { key, store, output } = this.context;
    for (const call of await store.openCalls(key)) {
      this.open.set(call.id, call);
      const message = await output.load(call.messageId);
      const isCard = message?.parts.some(
        (part) =>
          'toolCallId' in part &&
          (part.toolCallId === call.approvalId || (part.toolCallId === call.id && 'approval' in part)),
      );
      if (isCard) this.shown.add(call.id);
      if (message && (call.status === 'approved' || call.status === 'denied')) {
        new MessageFold(message).decide(call.id, call.status === 'approved', call.reason ?? undefined);
        await store.putMessage(key, message);
      }
    }
    for (const call of this.all) {
      const settlement = leftBehind(call);
      if (settlement) await this.settleQuietly(call, settlement);
    }
  }

  /** Settles a call while nobody listens: the history and the stored message say so, no chunk does. */
  async settleQuietly(call: CallRecord, settlement: Settlement): Promise<void> {
    await this.settle(call, settlement);
    const { output, store, key } = this.context;
    const message = await output.load(call.messageId);
    if (!message) return;
    const fold = output.fold(call.messageId) ?? new MessageFold(message);
    // In the confirmation dialect the confirmation is what is on the screen.
    for (const id of [call.id, call.approvalId]) {
      if (id === null || !fold.isOpen(id)) continue;
      fold.push({ ...this.chunkOf(call, settlement), toolCallId: id } as Chunk);
    }
    await store.putMessage(key, message);
  }

  private keep(call: CallRecord): CallRecord {
    if (this.open.has(call.id)) this.open.set(call.id, call);
    return call;
  }

  private clientDeadline(now: number): number | null {
    const { clientTimeoutMs } = this.context;
    return clientTimeoutMs === null ? null : now + clientTimeoutMs;
  }

  /** In the confirmation dialect the output of the confirmation is the decision. */
  private asDecision(answer: Answer): Answer {
    if (answer.kind !== 'output') return answer;
    const call = this.all.find((candidate) => candidate.approvalId === answer.toolCallId);
    const confirmed = isRecord(answer.output) ? answer.output.confirmed : undefined;
    if (!call || typeof confirmed !== 'boolean') return answer;
    return { kind: 'decision', toolCallId: call.id, approvalId: answer.toolCallId, approved: confirmed };
  }
}

/** A deferred tool's outcome as a settlement. */
export function settlementOf(outcome: Exclude<Outcome, { kind: 'asks' }>): Settlement {
  return outcome.kind === 'waits' ? { kind: 'output', output: null } : outcome;
}

/** How a call ends that a process left in the middle of something; null when it goes on. */
function leftBehind(call: CallRecord): Settlement | null {
  if (call.status === 'denied') return { kind: 'denied', reason: call.reason };
  if (call.status === 'expired') return { kind: 'error', errorText: call.reason ?? APPROVAL_TIMED_OUT };
  return call.status === 'running' && call.runsOn === 'server'
    ? { kind: 'error', errorText: OUTCOME_UNKNOWN }
    : null;
}

function responseOf(settlement: Settlement): Record<string, unknown> {
  switch (settlement.kind) {
    case 'output':
      return toResponse(settlement.output);
    case 'error':
      return { error: settlement.errorText, ...(settlement.interrupted ? { interrupted: true } : {}) };
    case 'denied':
      return { error: denialText(settlement.reason ?? undefined) };
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
