import type { SessionOptions } from '../engine.ts';
import type { About, Effect, Write } from './effects.ts';

/** What every part of the machine uses: time and ids are passed in, effects are handed out. */
export class Core {
  readonly options: SessionOptions;
  readonly newId: () => string;
  now = 0;
  private effects: Effect[] = [];

  constructor(options: SessionOptions, newId: () => string) {
    this.options = options;
    this.newId = newId;
  }

  readonly emit = (effect: Effect): void => {
    this.effects.push(effect);
  };

  /** Writes, and then does what `after` hands out; nothing of that when a write fails. */
  storing(writes: Write[], about: About | null, after: () => void = () => undefined): void {
    const outside = this.effects;
    this.effects = [];
    after();
    const inside = this.effects;
    this.effects = outside;
    this.emit({ type: 'store', writes, after: inside, about });
  }

  /** The effects since the last time. */
  take(): Effect[] {
    const { effects } = this;
    this.effects = [];
    return effects;
  }
}
