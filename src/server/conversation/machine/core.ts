import type { SessionOptions } from '../../engine.ts';
import type { About, Effect, Write } from './effects.ts';

/** How long what the disk did not take waits before it is tried again. */
export const RETRY_MS = 1000;

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

  newMessageId(): string {
    return `msg_${this.newId()}`;
  }

  readonly emit = (effect: Effect): void => {
    this.effects.push(effect);
  };

  /** Writes, and then does what `after` hands out; nothing of that when a write fails, but what `undo` writes. */
  storing(
    writes: Write[],
    about: About | null,
    after: () => void = () => undefined,
    undo: Write[] = [],
  ): void {
    const failed: Effect[] =
      undo.length === 0 ? [] : [{ type: 'store', writes: undo, after: [], about: null }];
    this.emit({ type: 'store', writes, after: this.collect(after), failed, about });
  }

  /** Writes, once more if need be, and then does what `after` hands out in any case: an end that cannot be kept is still an end. */
  storingAnyway(writes: Write[], after: () => void, failed = after): void {
    const then = this.collect(after);
    this.emit(anyway(writes, then, failed === after ? then : this.collect(failed)));
  }

  /** The effects that something hands out, kept apart. */
  collect(hands: () => void): Effect[] {
    const outside = this.effects;
    this.effects = [];
    hands();
    const inside = this.effects;
    this.effects = outside;
    return inside;
  }

  /** The effects since the last time. */
  take(): Effect[] {
    const { effects } = this;
    this.effects = [];
    return effects;
  }
}

/** Writes that are tried twice, and what follows whether or not they could be done. */
export function anyway(writes: Write[], after: Effect[], failed = after): Effect {
  const again: Effect = { type: 'store', writes, after, failed, about: null };
  return { ...again, failed: [again] };
}
