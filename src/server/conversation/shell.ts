import { exhaustive } from '../../protocol/exhaustive.ts';
import { Approvals } from '../approvals.ts';
import type { Engine } from '../engine.ts';
import type { Output } from '../output.ts';
import { StaleFence, StateConflict } from '../store/store.ts';
import { AdkRuns } from './adk-runs.ts';
import type { Asker, Effect } from './effects.ts';
import type { Input, Recovered } from './inputs.ts';
import { Machine } from './machine.ts';
import type { Remains, TakenUp } from './recover.ts';
import { Told } from './told.ts';
import { ToolSlots } from './tool-slots.ts';
import { Writes } from './writes.ts';

/** What the hands of a conversation need from around them. */
export interface ShellContext extends Remains {
  output: Output;
  /** Where a line of the log comes from. */
  about: () => Record<string, unknown>;
  /** Sound for whoever listens. */
  play: (sound: { messageId: string; data: string; sampleRate: number }) => void;
  /** Nobody wants to hear what was said so far. */
  onHush: () => void;
  /** The turn of a request has come: what is said from now on is its answer. */
  onMark: (asker: Asker) => void;
  /** Everything that was to be done is done. */
  onRest: () => void;
  /** The session has another owner: nothing more is done here. */
  onLost: () => void;
}

/**
 * The hands of a conversation: do what the machine says, in order, and push back whatever comes of it. An effect that writes holds
 * back those behind it, and nothing else does.
 */
export class Shell {
  readonly machine: Machine;
  private readonly context: ShellContext;
  private readonly engine: Engine;
  private readonly output: Output;
  private readonly writes: Writes;
  private readonly runs: AdkRuns;
  private readonly slots: ToolSlots;
  private readonly told: Told;
  private readonly queue: Effect[] = [];
  private lastTouch: number;
  private isPerforming = false;
  private isDropped = false;
  private readonly resting = new Set<() => void>();
  private cancelWake: () => void = () => undefined;

  constructor({ recovered, isNew, waiting }: TakenUp, context: ShellContext) {
    const { key, engine, output, history } = context;
    const { store, clock, newId, options } = engine;
    this.context = context;
    this.engine = engine;
    this.output = output;
    this.lastTouch = clock.elapsed();
    this.machine = new Machine(options, newId, recovered);
    for (const message of recovered.messages) output.adopt(message);
    this.told = new Told(recovered.calls.flatMap(announcedBy));
    const push = (input: Input) => this.push(input);
    const log = (level: 'info' | 'warn', text: string, fields: Record<string, unknown>) =>
      engine.logger[level](text, { ...context.about(), ...fields });
    this.slots = new ToolSlots({ engine, history, push, log });
    this.runs = new AdkRuns({
      engine,
      history,
      push,
      tools: this.slots.tools,
      openCalls: () => this.machine.openCalls,
      room: () => output.room(),
      onFault: (error) => this.fault(error),
    });
    const approvals = new Approvals(store, key, () => clock.now());
    this.writes = new Writes({ key, engine, output, history, approvals, isNew, waiting, log });
  }

  /** Time of the last input, or of someone who looked for it. */
  get touchedAt(): number {
    return this.lastTouch;
  }

  /** Someone is about to use it. */
  touch(): void {
    this.lastTouch = this.engine.clock.elapsed();
  }

  /** Whether something is still to be done. */
  get isAtWork(): boolean {
    return this.queue.length > 0 || this.isPerforming;
  }

  /** Resolves when everything that was to be done is done, and nothing else keeps it from resting. */
  async rest(isKept: () => boolean = () => false): Promise<void> {
    while (this.isAtWork || isKept()) {
      await new Promise<void>((resolve) => this.resting.add(resolve));
    }
  }

  /** Resolves when no run is open any more, or after a while. */
  runsEnded(): Promise<void> {
    return this.runs.ended();
  }

  /** Whatever still comes of what ran is of no interest. */
  drop(): void {
    this.isDropped = true;
  }

  /** Whether nothing is done here any more. */
  get isGone(): boolean {
    return this.isDropped;
  }

  /**
   * Something was not written. When that is because the session has another owner, this one has nothing more to do: whatever it
   * would write, say or run from now on could contradict the other.
   */
  fault(error: unknown): void {
    if (!(error instanceof StaleFence) || this.isDropped) return;
    this.isDropped = true;
    this.queue.length = 0;
    this.cancelWake();
    this.runs.closeAll();
    this.slots.abort();
    this.context.onLost();
  }

  push(input: Input): void {
    if (this.isDropped) return;
    const { clock } = this.engine;
    this.touch();
    try {
      for (const effect of this.machine.push(input, clock.now())) this.queue.push(effect);
    } catch (error) {
      this.failed(`what came of "${input.type}" was not worked out`, error);
    }
    if (!this.isPerforming) this.perform();
  }

  /** Does what is to be done, up to something that has to be waited for. */
  private perform(): void {
    this.isPerforming = true;
    for (let effect = this.queue.shift(); effect !== undefined; effect = this.queue.shift()) {
      const work = this.attempt(effect);
      if (!work) continue;
      this.apart(work.then(() => this.perform()));
      return;
    }
    this.isPerforming = false;
    this.context.onRest();
    if (!this.machine.isBusy) this.output.rested();
    if (this.resting.size === 0) return;
    for (const resolve of this.resting) resolve();
    this.resting.clear();
  }

  /** Does one thing; one that fails in an unforeseen way leaves the rest to be done. */
  private attempt(effect: Effect): Promise<void> | undefined {
    try {
      return this.act(effect);
    } catch (error) {
      this.failed(`"${effect.type}" was not done`, error);
      return undefined;
    }
  }

  /** Does one thing. What it returns has to be waited for, and never rejects. */
  private act(effect: Effect): Promise<void> | undefined {
    const { output, runs, slots, engine, told } = this;
    switch (effect.type) {
      case 'say':
        if (told.mayTell(effect.messageId, effect.chunk)) output.say(effect.chunk);
        return;
      case 'start':
        told.start(effect.message.id);
        output.begin(effect.message);
        return;
      case 'inject':
        output.inject(effect.chunk);
        return;
      case 'tell-kept': {
        const message = this.writes.kept(effect.messageId);
        if (message) output.inject({ type: 'data-message', data: { message }, transient: true });
        return;
      }
      case 'say-stored':
        if (!told.mayTell(effect.messageId, effect.chunk)) return;
        return this.note('a card was not kept', output.sayStored(effect.chunk, effect.inStep));
      case 'finish':
        if (!told.mayFinish(effect.message.id)) return;
        return this.note('a message was not kept', this.finish(effect));
      case 'amend':
        return this.note('a message was not kept', output.amend(effect.messageId, effect.chunks));
      case 'mark-card':
        output.fold(effect.messageId)?.decide(effect.callId, effect.approved, effect.reason);
        return;
      case 'release':
        output.release(effect.messageId);
        return;
      case 'sound':
        this.context.play(effect);
        return;
      case 'flush-sound':
        this.context.onHush();
        return;
      case 'store':
        return this.store(effect);
      case 'store-apart':
        this.apart(this.store({ ...effect, type: 'store', after: [] }));
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
      case 'show-media':
        runs.show(effect.n, effect.blob);
        return;
      case 'signal':
        runs.signal(effect.n, effect.activity);
        return;
      case 'hush':
        runs.hush(effect.n);
        return;
      case 'let-go':
        runs.letGo(effect.ticket, effect.error);
        return;
      case 'want-slot':
        this.apart(slots.want(effect.call));
        return;
      case 'give-slot-back':
        slots.giveBack(effect.callId);
        return;
      case 'run-tool':
        this.apart(slots.run(effect.call));
        return;
      case 'ask-sign-in':
        this.apart(this.askSignIn(effect));
        return;
      case 'abort-tools':
        slots.abort();
        return;
      case 'mark':
        effect.asker.mark();
        this.context.onMark(effect.asker);
        return;
      case 'begun':
        effect.asker.begin();
        return;
      case 'accept':
        effect.asker.accept(effect.accepted);
        return;
      case 'tell':
        effect.asker.tell(effect.error);
        return;
      case 'refuse':
        effect.asker.refuse(effect.error);
        return;
      case 'wake':
        this.wake(effect.at);
        return;
      case 'note':
        engine.logger[effect.level](effect.text, { ...this.context.about(), ...effect.fields });
        return;
      default:
        return exhaustive(effect);
    }
  }

  private async store(effect: Extract<Effect, { type: 'store' }>): Promise<void> {
    const { writes, after, about } = effect;
    try {
      const results = await this.writes.all(writes);
      if (this.isDropped) return;
      this.queue.unshift(...after);
      if (about) this.push({ type: 'stored', about, results });
    } catch (error) {
      this.fault(error);
      if (!this.isDropped) this.queue.unshift(...insteadOf(effect, error));
      this.push({ type: 'store-failed', about, error });
    }
  }

  private finish({ message, chunks }: Extract<Effect, { type: 'finish' }>): Promise<void> {
    return this.output.conclude(message, chunks, () => this.writes.keepImages(message));
  }

  private async askSignIn({ by, question }: Extract<Effect, { type: 'ask-sign-in' }>): Promise<void> {
    const standing = await this.engine.signIn.ask(by);
    this.push({ type: 'signed-in', question, standing });
  }

  private wake(at: number | null): void {
    const { clock } = this.engine;
    this.cancelWake();
    this.cancelWake =
      at === null ? () => undefined : clock.after(at - clock.now(), () => this.push({ type: 'time' }));
  }

  private note(text: string, work: Promise<void>): Promise<void> {
    return work.catch((error: unknown) => this.failed(text, error));
  }

  /** Work that nothing waits for: what it gives comes back as an input. */
  private apart(work: Promise<void>): void {
    work.catch((error: unknown) => this.failed('something failed in a conversation', error));
  }

  private failed(text: string, error: unknown): void {
    this.fault(error);
    if (this.isDropped) return;
    this.engine.logger.error(text, { ...this.context.about(), error: String(error) });
  }
}

/** What follows a write that failed. */
export function insteadOf(
  { failed = [], conflicted = failed }: Extract<Effect, { type: 'store' }>,
  error: unknown,
): Effect[] {
  return error instanceof StateConflict ? conflicted : failed;
}

/** What a message shows of a call: the call itself, and its confirmation where that is a call of its own. */
function announcedBy({ record, isAnnounced, isConfirming }: Recovered['calls'][number]): string[] {
  const { id, approvalId } = record;
  return [...(isAnnounced ? [id] : []), ...(isConfirming && approvalId !== null ? [approvalId] : [])];
}
