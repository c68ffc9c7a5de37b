import type { Engine } from '../engine.ts';
import type { Output } from '../output/output.ts';
import { StaleFence } from '../store/store.ts';
import { Hands, type Surroundings } from './hands.ts';
import type { Effect } from './machine/effects.ts';
import type { Input } from './machine/inputs.ts';
import { Machine } from './machine/machine.ts';
import type { TakenUp } from './recover.ts';

/** What a shell needs from around it. */
export interface ShellContext extends Surroundings {
  /** Everything that was to be done is done. */
  onRest: () => void;
  /** The session has another owner: nothing more is done here. */
  onLost: () => void;
}

/** Something that is read in its place among the effects. */
type QueuedRead = () => Promise<void>;

/**
 * What is around the machine of a conversation: pushes inputs, and has the effects done in order, whose results are inputs again. An
 * effect that writes holds back those behind it, and nothing else does.
 */
export class Shell {
  readonly machine: Machine;
  private readonly context: ShellContext;
  private readonly engine: Engine;
  private readonly output: Output;
  private readonly hands: Hands;
  private readonly queue: (Effect | QueuedRead)[] = [];
  private lastTouch: number;
  private isPerforming = false;
  private isDropped = false;
  private readonly resting = new Set<() => void>();

  constructor(taken: TakenUp, context: ShellContext) {
    const { engine, output } = context;
    const { clock, newId, options } = engine;
    this.context = context;
    this.engine = engine;
    this.output = output;
    this.lastTouch = clock.elapsed();
    this.machine = new Machine(options, newId, taken.recovered);
    for (const message of taken.recovered.messages) output.adopt(message);
    this.hands = new Hands(taken, {
      push: (input) => this.push(input),
      first: (effects) => this.queue.unshift(...effects),
      openCalls: () => this.machine.openCalls,
      onFault: (error) => this.fault(error),
      isDropped: () => this.isDropped,
      // Last: an object that begins with a spread and goes on gets a shape of its own each time, and whatever reads it gets slow.
      ...context,
    });
  }

  /** When the agent last came to rest, or someone looked for it. */
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

  /** Resolves when everything that was to be done is done, and nothing else keeps it busy. */
  async untilIdle(isKept: () => boolean = () => false): Promise<void> {
    while (this.isAtWork || isKept()) {
      await new Promise<void>((resolve) => this.resting.add(resolve));
    }
  }

  /** Reads in its place among the effects: everything that is stored by then is told, and nothing that is told later is in it. */
  read<T>(work: () => Promise<T>): Promise<T> {
    if (this.isDropped) return work();
    return new Promise((resolve, reject) => {
      this.queue.push(() => work().then(resolve, reject));
      if (!this.isPerforming) this.perform();
    });
  }

  /** Resolves when no run is open any more, or after a while. */
  runsEnded(): Promise<void> {
    return this.hands.runsEnded();
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
    // Whoever waits to read may read what is stored.
    for (const effect of this.queue.splice(0)) if (typeof effect === 'function') this.hands.apart(effect());
    this.hands.letGo();
    this.context.onLost();
  }

  push(input: Input): void {
    if (this.isDropped) return;
    try {
      // Words wait for nothing, unless something that was to be done before them is still being done.
      if (input.type === 'event' && !this.isAtWork && this.speak(input)) return;
      for (const effect of this.machine.push(input, this.engine.clock.now())) this.queue.push(effect);
    } catch (error) {
      this.hands.failed(`what came of "${input.type}" was not worked out`, error);
    }
    if (!this.isPerforming) this.perform();
  }

  /** Says what the event is, if it is nothing but words. */
  private speak({ n, event }: Extract<Input, { type: 'event' }>): boolean {
    const words = this.machine.words(n, event);
    if (!words) return false;
    this.isPerforming = true;
    try {
      for (const chunk of words.chunks) this.hands.say(words.messageId, chunk);
    } finally {
      this.isPerforming = false;
    }
    // Whoever heard them may have wanted something at once.
    if (this.queue.length > 0) this.perform();
    return true;
  }

  /** Does what is to be done, up to something that has to be waited for. */
  private perform(): void {
    this.isPerforming = true;
    for (let effect = this.queue.shift(); effect !== undefined; effect = this.queue.shift()) {
      const work = this.attempt(effect);
      if (!work) continue;
      this.hands.apart(work.then(() => this.perform()));
      return;
    }
    this.isPerforming = false;
    this.context.onRest();
    if (!this.machine.isBusy) this.rested();
    if (this.resting.size === 0) return;
    for (const resolve of this.resting) resolve();
    this.resting.clear();
  }

  /** Nothing is to be done, and the agent is not at work. Time is looked up here, and not for every token. */
  private rested(): void {
    this.touch();
    this.output.rested();
  }

  /** Does one thing; one that fails in an unforeseen way leaves the rest to be done. */
  private attempt(effect: Effect | QueuedRead): Promise<void> | undefined {
    try {
      return typeof effect === 'function' ? effect() : this.hands.act(effect);
    } catch (error) {
      const what = typeof effect === 'function' ? 'read' : effect.type;
      this.hands.failed(`"${what}" was not done`, error);
      return undefined;
    }
  }
}
