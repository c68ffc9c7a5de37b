import { type DeferredCall, responseEvent } from '../adk/engine.ts';
import { type Answer, type Chunk, MessageFold, stateConflict } from '../protocol/index.ts';
import { Approvals, hashArgs } from './approvals.ts';
import type { Clock } from './clock.ts';
import type { SessionOptions } from './engine.ts';
import type { History } from './history.ts';
import type { Output } from './output.ts';
import {
  type Failure,
  lateSettlement,
  leftBehind,
  outputChunk,
  responseOf,
  type Settlement,
  SIGNED_OUT_END,
} from './settlement.ts';
import type { Identity } from './sign-in.ts';
import { type CallRecord, type SessionKey, StateConflict, type Store } from './store/store.ts';

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

/** How a call has ended, and what the model gets for it. */
export interface Settled {
  settlement: Settlement;
  response: Record<string, unknown>;
}

/** What the calls of a session need from around them. */
export interface CallsContext {
  key: SessionKey;
  store: Store;
  clock: Clock;
  newId: () => string;
  output: Output;
  history: History;
  options: Pick<SessionOptions, 'denials' | 'clientTimeoutMs'>;
  /** A decision did not count. */
  onRefused: (toolCallId: string, why: string) => void;
}

/** Ids longer than this are not ours. */
const MAX_LOGGED_ID = 256;

/** Answers of one message that are read; nobody waits for more at once. */
const MAX_ANSWERS = 100;

/** The calls of a session that wait for the person, the browser or a running tool. */
export class Calls {
  readonly approvals: Approvals;
  private readonly context: CallsContext;
  private readonly open = new Map<string, CallRecord>();
  private readonly shown = new Set<string>();
  /** Who decided about a call, in this process. */
  private readonly deciders = new Map<string, Identity>();

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

  /** Whether a message has calls that are open. */
  areOpenIn(messageId: string): boolean {
    return this.all.some((call) => call.messageId === messageId);
  }

  /** Whether a message has calls that wait for the person or the browser. */
  isWaitingIn(messageId: string): boolean {
    return this.all.some(
      (call) => call.messageId === messageId && !(call.status === 'running' && call.runsOn === 'server'),
    );
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
      status: call.asks ? 'requested' : call.runsOn === 'server' ? 'ready' : 'running',
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

  /** The card is on its way: from now on the call may be answered, for so long. */
  async show(call: CallRecord, timeoutMs: number | null): Promise<CallRecord> {
    this.shown.add(call.id);
    if (timeoutMs === null) return call;
    const { key, store, clock } = this.context;
    const expiresAt = clock.now() + timeoutMs;
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

  /** Whether some of the answers decide about a card. */
  areDecided(answers: readonly Answer[]): boolean {
    return answers.some((answer) => this.asDecision(answer).kind === 'decision');
  }

  /** Who decided about a call; undefined when nobody did, or another process heard it. */
  deciderOf(call: CallRecord): Identity | undefined {
    return this.deciders.get(call.id);
  }

  /** Whoever approved a call is signed in no more: it never runs. Null when it is approved no more. */
  async withdraw(call: CallRecord): Promise<CallRecord | null> {
    const moved = await this.approvals.signedOut(call, 'approved');
    return moved ? this.keep(moved) : null;
  }

  /** Applies what the client said, and tells what may happen next, in the order of the calls. */
  async answer(
    given: Answer[],
    { by, isSignedIn }: { by: Identity; isSignedIn: boolean },
  ): Promise<Answered> {
    const answers = given.slice(0, MAX_ANSWERS);
    const { output } = this.context;
    const steps = new Map<string, Step>();
    const refused: string[] = [];
    const decided = new Set<string>();
    for (const answer of answers.map((one) => this.asDecision(one))) {
      if (answer.kind !== 'decision') continue;
      if (!isSignedIn) {
        const call = await this.approvals.refuseSignedOut(answer, (one) => this.shown.has(one.id));
        if (call && this.open.has(call.id)) {
          steps.set(call.id, { call: this.keep(call), next: 'settle', settlement: SIGNED_OUT_END });
        }
        continue;
      }
      const verdict = await this.approvals.decide(answer, (call) => this.shown.has(call.id));
      if (verdict.kind === 'refused') {
        refused.push(verdict.why);
        this.context.onRefused(answer.toolCallId.slice(0, MAX_LOGGED_ID), verdict.why);
        continue;
      }
      if (verdict.kind === 'ignored' || !this.open.has(verdict.call.id)) continue;
      const call = this.keep(verdict.call);
      (await output.open(call.messageId))?.decide(call.id, answer.approved, answer.reason);
      decided.add(call.messageId);
      this.deciders.set(call.id, by);
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

  /** Takes the approval of a call for use, if it has one; null when someone else did. */
  async consume(call: CallRecord): Promise<CallRecord | null> {
    if (call.status !== 'approved') return call;
    const deadline = call.runsOn === 'client' ? this.clientDeadline(this.context.clock.now()) : null;
    const moved = await this.approvals.consume(call, deadline);
    return moved ? this.keep(moved) : null;
  }

  /** The turn of a call on the server has come: from now on it runs. Null when it runs already, or has ended. */
  async begin(call: CallRecord): Promise<CallRecord | null> {
    const now = this.open.get(call.id);
    if (now?.status === 'approved') return this.consume(now);
    if (now?.status !== 'ready') return null;
    const { key, store } = this.context;
    const moved = await store.moveCall(key, { id: call.id, from: 'ready', to: 'running' }, null);
    return moved ? this.keep(moved) : null;
  }

  /**
   * Ends a call: its response enters the history, with what the tool changed, in one transaction; then it is told. When
   * someone else has changed the same data meanwhile, nothing of it is kept, and the call ends so. Null when it has ended.
   */
  async settle(call: CallRecord, settlement: Settlement): Promise<Settled | null> {
    try {
      return await this.write(call, settlement);
    } catch (error) {
      if (!(error instanceof StateConflict)) throw error;
      return this.write(call, { kind: 'error', errorText: stateConflict(call.toolName) });
    }
  }

  private async write(call: CallRecord, settlement: Settlement): Promise<Settled | null> {
    if (!this.open.has(call.id)) return null;
    if (call.status === 'requested' && settlement.kind === 'error') {
      await this.approvals.expire(call, settlement.errorText);
    }
    const response = responseOf(settlement);
    const actions = settlement.kind === 'output' ? settlement.actions : undefined;
    const event = responseEvent(call, [{ id: call.id, name: call.toolName, response }], actions, {
      settled: settlement.kind,
      ...(settlement.kind === 'output' && response !== settlement.output ? { wrapped: true } : {}),
    });
    const session = settlement.kind === 'output' ? settlement.session : undefined;
    const { history } = this.context;
    await (session ? history.appendChange(event, session) : history.append(event));
    this.open.delete(call.id);
    this.shown.delete(call.id);
    this.deciders.delete(call.id);
    return { response, settlement };
  }

  /** The chunks that tell how a call ended to a message: in the confirmation dialect the confirmation is what it shows. */
  chunksFor(call: CallRecord, settlement: Settlement, fold: MessageFold | undefined): Chunk[] {
    return [call.approvalId, call.id].flatMap((id) =>
      id !== null && fold?.isOpen(id) ? [outputChunk(id, settlement, this.context.options.denials)] : [],
    );
  }

  /** The calls whose time is up, with how they end. */
  overdue(): { call: CallRecord; settlement: Failure }[] {
    const now = this.context.clock.now();
    return this.all.flatMap((call) => {
      const settlement = call.expiresAt !== null && call.expiresAt <= now ? lateSettlement(call) : null;
      return settlement ? [{ call, settlement }] : [];
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

  /** Settles a call while nobody listens: the history and the stored message say so. Gives the chunks that would tell. */
  async settleQuietly(call: CallRecord, ending: Settlement): Promise<Chunk[]> {
    const { settlement } = (await this.settle(call, ending)) ?? { settlement: ending };
    const { output, store, key } = this.context;
    const message = await output.load(call.messageId);
    if (!message) return [];
    const fold = output.fold(call.messageId) ?? new MessageFold(message);
    const chunks = this.chunksFor(call, settlement, fold);
    for (const chunk of chunks) fold.push(chunk);
    await store.putMessage(key, message);
    return chunks;
  }

  private keep(call: CallRecord): CallRecord {
    if (this.open.has(call.id)) this.open.set(call.id, call);
    return call;
  }

  private clientDeadline(now: number): number | null {
    const { clientTimeoutMs } = this.context.options;
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
