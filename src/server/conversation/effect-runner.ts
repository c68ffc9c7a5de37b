import { exhaustive } from '../../protocol/exhaustive.ts';
import type { Listeners } from '../clients/listeners.ts';
import type { Requests } from '../clients/requests.ts';
import type { Engine } from '../engine.ts';
import type { Output } from '../output/output.ts';
import { OutputGuard } from '../output/output-guard.ts';
import { StaleFence, StateConflict } from '../store/store.ts';
import type { AgentRuns } from './agent-runs.ts';
import type { ConversationState } from './state/conversation-state.ts';
import type { Effect, StoreEffect } from './state/effects.ts';
import type { Input } from './state/inputs.ts';
import type { StoreWriter } from './store-writer.ts';
import type { ToolRunner } from './tool-runner.ts';

/**
 * The objects that perform effects: on the store, in ADK, with the tools, in the output and for the clients. The effect runner uses only these methods
 * of the store, ADK and the tools, so other objects can take their place.
 */
export interface EffectTargets {
  store: Pick<StoreWriter, 'write' | 'published' | 'storeImages'>;
  runs: Omit<AgentRuns, 'defer'>;
  tools: Pick<ToolRunner, 'acquireLock' | 'releaseLock' | 'run' | 'runCallbacks' | 'abort'>;
  output: Output;
  requests: Requests;
  listeners: Listeners;
}

/** The objects and callbacks that `EffectRunner` gets from its conversation. */
export interface EffectRunnerContext {
  engine: Engine;
  state: ConversationState;
  /** The ids of the calls that the recovered messages show without an outcome. */
  announced: Iterable<string>;
  /** The fields of every log line: the session, its active connection, and the request that is being answered or came last. */
  logFields: () => Record<string, unknown>;
  /** Called once, when another process owns the session. This effect runner then performs no further effect. */
  onLost: () => void;
}

const CONFLICT =
  'the state changes of a tool were not stored: another call had changed the same data; the call ends with an error';
const NOT_WRITTEN =
  'a write to the store failed: unless it is tried again, output that depends on it is discarded and its request is rejected; check the store';
const NOT_STORED = 'the store rejected a message: clients that load it later lack its last changes';

type TextDeltas = Extract<Effect, { type: 'say-deltas' }>;

/** A read of the store that waits in the queue until the effects before it are performed. */
type QueuedRead = () => Promise<void>;

/**
 * Applies inputs to the state and performs the effects in order. Their results are inputs again. An effect that writes delays the effects after it,
 * unless it is `store-apart`.
 */
export class EffectRunner {
  private readonly context: EffectRunnerContext;
  private readonly state: ConversationState;
  private readonly targets: EffectTargets;
  private readonly guard: OutputGuard;
  private readonly queue: (Effect | QueuedRead)[] = [];
  private readonly resting = new Set<() => void>();
  private lastUse: number;
  private isPerforming = false;
  private isDropped = false;
  private cancelTimer: () => void = () => undefined;
  private readonly now = (): number => this.context.engine.clock.now();

  constructor(context: EffectRunnerContext, targets: (runner: EffectRunner) => EffectTargets) {
    this.context = context;
    this.state = context.state;
    this.guard = new OutputGuard(context.announced);
    this.lastUse = context.engine.clock.elapsed();
    this.targets = targets(this);
  }

  /**
   * The time (`clock.elapsed()`) of the last use: when a request last looked up the session, or when the last effect was performed while the agent was idle.
   */
  get lastUsedAt(): number {
    return this.lastUse;
  }

  /** Records that a request is about to use the session. */
  touch(): void {
    this.lastUse = this.context.engine.clock.elapsed();
  }

  /** Whether an effect is being performed or waits in the queue. */
  get isWorking(): boolean {
    return this.queue.length > 0 || this.isPerforming;
  }

  /** Whether this process no longer works on the session, because it lost the session, handed it over or removed it. */
  get isGone(): boolean {
    return this.isDropped;
  }

  /** Ignores all further inputs, because the session is removed or handed over. Effects that are still in the queue are performed. */
  drop(): void {
    this.isDropped = true;
  }

  /** Resolves when no effect is being performed or waits in the queue, and `isKept` returns false. */
  async untilIdle(isKept: () => boolean = () => false): Promise<void> {
    while (this.isWorking || isKept()) {
      await new Promise<void>((resolve) => this.resting.add(resolve));
    }
  }

  /**
   * Runs a read when the effects before it are performed. So the stored messages that it returns match the chunks that were sent until then, and
   * contain no later chunk.
   */
  read<T>(work: () => Promise<T>): Promise<T> {
    if (this.isDropped) return work();
    return new Promise((resolve, reject) => {
      this.queue.push(() => work().then(resolve, reject));
      if (!this.isPerforming) this.perform();
    });
  }

  /** Resolves when no run is open, or after five seconds. */
  runsEnded(): Promise<void> {
    return this.targets.runs.ended();
  }

  /**
   * Checks the error of a write or of a run. A `StaleFence` says that another process owns the session: then this process stops all work on the
   * session, because anything that it writes, sends or runs from now on could contradict the new owner. Any other error is ignored here.
   */
  fault(error: unknown): void {
    if (!(error instanceof StaleFence) || this.isDropped) return;
    this.isDropped = true;
    // Queued reads are still performed: they only return what is stored.
    for (const effect of this.queue.splice(0)) if (typeof effect === 'function') this.background(effect());
    this.cancelTimer();
    this.targets.runs.closeAll();
    this.targets.tools.abort();
    this.context.onLost();
  }

  /** Applies an input and performs its effects. */
  apply(input: Input): void {
    if (this.isDropped) return;
    try {
      const effects = this.state.apply(input, this.now);
      const [first] = effects;
      // Text deltas are sent at once, unless earlier effects are still to be performed.
      if (first?.type === 'say-deltas' && !this.isWorking) return this.sayDeltas(first);
      for (const effect of effects) this.queue.push(effect);
    } catch (error) {
      this.failed(`the input "${input.type}" failed: the conversation continues without it`, error);
    }
    if (!this.isPerforming) this.perform();
  }

  private sayDeltas(deltas: TextDeltas): void {
    this.isPerforming = true;
    try {
      this.sayAll(deltas);
    } finally {
      this.isPerforming = false;
    }
    // A listener that got the deltas may have caused another input meanwhile. The effects of that input are in the queue.
    if (this.queue.length > 0) this.perform();
  }

  private sayAll({ messageId, chunks }: TextDeltas): undefined {
    for (const chunk of chunks) if (this.guard.maySend(messageId, chunk)) this.targets.output.say(chunk);
  }

  /** Performs the effects in the queue. If one returns a promise, the effects after it are performed when the promise resolves. */
  private perform(): void {
    this.isPerforming = true;
    for (let effect = this.queue.shift(); effect !== undefined; effect = this.queue.shift()) {
      const work = this.attempt(effect);
      if (!work) continue;
      this.background(work.then(() => this.perform()));
      return;
    }
    this.isPerforming = false;
    this.rested();
  }

  private rested(): void {
    const { state, resting } = this;
    const { output, requests } = this.targets;
    if (!state.isResponding && !state.isStarting) requests.clearAnswering();
    if (!state.isBusy) {
      this.touch();
      output.rested();
    }
    if (resting.size === 0) return;
    for (const resolve of resting) resolve();
    resting.clear();
  }

  /** Performs one effect or read. An unexpected failure does not stop the effects after it. */
  private attempt(effect: Effect | QueuedRead): Promise<void> | undefined {
    try {
      return typeof effect === 'function' ? effect() : this.act(effect);
    } catch (error) {
      const what = typeof effect === 'function' ? 'read' : effect.type;
      this.failed(`the effect "${what}" failed: the conversation continues without it`, error);
      return undefined;
    }
  }

  /** Performs one effect. A returned promise never rejects, and the effects after this one wait for it. */
  private act(effect: Effect): Promise<void> | undefined {
    const { guard } = this;
    const { store, runs, tools, output, requests, listeners } = this.targets;
    switch (effect.type) {
      case 'start':
        return guard.start(effect.message.id) ? output.begin(effect.message, effect.isTurn) : undefined;
      case 'say':
        if (guard.maySend(effect.messageId, effect.chunk)) output.say(effect.chunk);
        return;
      case 'say-deltas':
        return this.sayAll(effect);
      case 'say-stored':
        if (!guard.maySend(effect.messageId, effect.chunk)) return;
        return this.logged(
          'the store rejected a message with an approval request: clients got the request, and the next write of the message includes it',
          output.sayStored(effect.chunk, effect.inStep, effect.asks),
        );
      case 'inject':
        output.inject(effect.chunk);
        return;
      case 'publish-message': {
        const message = store.published(effect.messageId);
        if (message) output.inject({ type: 'data-message', data: { message }, transient: true });
        return;
      }
      case 'amend':
        return this.logged(NOT_STORED, output.amend(effect.messageId, effect.chunks));
      case 'mark-decided':
        output.fold(effect.messageId)?.decide(effect.callId, effect.approved, effect.reason);
        return;
      case 'finish': {
        const { message, chunks, isOver } = effect;
        if (!guard.mayFinish(message.id)) return;
        const prepare = () => store.storeImages(message);
        return this.logged(NOT_STORED, output.conclude(message, chunks, { prepare, isOver }));
      }
      case 'release':
        guard.release(effect.messageId);
        return output.release(effect.messageId);
      case 'sound':
        output.spoke(effect);
        listeners.play(effect);
        return;
      case 'stop-playback':
        listeners.stopPlayback();
        return;

      case 'store':
        return this.store(effect);
      case 'store-apart':
        this.background(this.store({ ...effect, type: 'store', after: [] }));
        return;

      case 'open-run':
        runs.open(effect.n, effect.request);
        return;
      case 'close-run':
        runs.close(effect.n);
        return;
      case 'send':
        runs.send(effect.n, effect.content);
        return;
      case 'send-media':
        runs.sendMedia(effect.n, effect.blob);
        return;
      case 'signal-activity':
        runs.signal(effect.n, effect.activity);
        return;
      case 'mute':
        runs.mute(effect.n);
        return;
      case 'release-call':
        runs.releaseCall(effect.ticket, effect.error);
        return;

      case 'acquire-lock':
        this.background(tools.acquireLock(effect.call));
        return;
      case 'release-lock':
        tools.releaseLock(effect.callId);
        return;
      case 'run-tool':
        this.background(tools.run(effect.call));
        return;
      case 'run-callbacks':
        this.background(tools.runCallbacks(effect.call, effect.output));
        return;
      case 'abort-tools':
        tools.abort();
        return;
      case 'check-sign-in':
        this.background(this.checkSignIn(effect));
        return;

      case 'mark-response':
        requests.markResponse(effect.request.id);
        return;
      case 'take-request':
        requests.take(effect.request.id);
        return;
      case 'acknowledge':
        requests.acknowledge(effect.request.id, effect.accepted);
        return;
      case 'warn':
        requests.warn(effect.request.id, effect.error);
        return;
      case 'reject':
        requests.reject(effect.request.id, effect.error);
        return;
      case 'reply-to':
        listeners.replyTo(effect.connection, effect.error);
        return;

      case 'wake':
        this.setTimer(effect.at);
        return;
      case 'log':
        this.log(effect.level, effect.text, effect.fields);
        return;
      default:
        return exhaustive(effect);
    }
  }

  /** Performs writes, and then puts the effects that depend on them, or those that replace them after a failure, at the front of the queue. */
  private async store(effect: StoreEffect): Promise<void> {
    const { writes, after, purpose } = effect;
    try {
      const results = await this.targets.store.write(writes);
      if (this.isDropped) return;
      this.queue.unshift(...after);
      if (purpose) this.apply({ type: 'stored', purpose, results });
    } catch (error) {
      this.fault(error);
      this.guard.writeFailed(purpose);
      if (!this.isDropped) {
        const fields = { error: String(error), what: purpose?.for };
        if (error instanceof StateConflict) this.log('info', CONFLICT, fields);
        else this.log('error', NOT_WRITTEN, fields);
        this.queue.unshift(...insteadOf(effect, error));
      }
      this.apply({ type: 'store-failed', purpose, error });
    }
  }

  private async checkSignIn({ by, question }: Extract<Effect, { type: 'check-sign-in' }>): Promise<void> {
    const status = await this.context.engine.signIn.ask(by);
    this.apply({ type: 'signed-in', question, status });
  }

  private setTimer(at: number | null): void {
    const { clock } = this.context.engine;
    this.cancelTimer();
    if (at === null) return;
    this.cancelTimer = clock.after(Math.max(0, at - clock.now()), () => this.apply({ type: 'time' }));
  }

  private logged(text: string, work: Promise<void>): Promise<void> {
    return work.catch((error: unknown) => this.failed(text, error));
  }

  /** Logs the failure of work that runs on its own: no caller waits for it. */
  private background(work: Promise<void>): void {
    work.catch((error: unknown) => this.failed('background work failed: the conversation continues', error));
  }

  private failed(text: string, error: unknown): void {
    this.fault(error);
    if (!this.isDropped) this.log('error', text, { error: String(error) });
  }

  private log(level: 'info' | 'error', text: string, fields: Record<string, unknown>): void {
    this.context.engine.logger[level](text, { ...this.context.logFields(), ...fields });
  }
}

/** The effects that replace `after` when a write has failed. */
export function insteadOf({ failed = [], conflicted = failed }: StoreEffect, error: unknown): Effect[] {
  return error instanceof StateConflict ? conflicted : failed;
}
