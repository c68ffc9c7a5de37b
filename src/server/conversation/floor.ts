import type { Listener } from '../registry/session.ts';

/**
 * Who listens to a conversation, and which of them has the floor: it alone hears sound and runs the browser's tools. Whoever cannot
 * watch takes the floor when it comes, and goes when it loses it.
 */
export class Floor {
  private readonly listeners = new Set<Listener>();
  private current: Listener | null = null;
  private readonly onChange: (holder: Listener | null) => void;

  constructor(onChange: (holder: Listener | null) => void) {
    this.onChange = onChange;
  }

  get holder(): Listener | null {
    return this.current;
  }

  get all(): Listener[] {
    return [...this.listeners];
  }

  get isEmpty(): boolean {
    return this.listeners.size === 0;
  }

  /** Whether anyone is there who may be told that another has the floor. */
  get isWatched(): boolean {
    return this.all.some(({ watches }) => watches !== 'never');
  }

  has(listener: Listener): boolean {
    return this.listeners.has(listener);
  }

  /** Someone comes. The floor is theirs when it is free, or when they cannot do without. */
  join(listener: Listener): void {
    this.listeners.add(listener);
    if (this.current === null || listener.watches === 'never') this.take(listener);
  }

  /** Someone does something that only one can do. */
  take(listener: Listener): void {
    const before = this.current;
    if (before === listener || listener.watches === 'always' || !this.listeners.has(listener)) return;
    this.current = listener;
    if (before?.watches === 'never') {
      this.listeners.delete(before);
      before.end('taken_over', 'This conversation is open somewhere else now.');
    }
    this.onChange(listener);
  }

  /** Someone without a connection does such a thing: nobody else has the floor then. Who cannot watch keeps it. */
  free(): void {
    if (this.current?.watches !== 'when-another-speaks') return;
    this.current = null;
    this.onChange(null);
  }

  /** The floor is free for good: it goes to the one who came last, of those who can have it. */
  passOn(): void {
    const next = this.all.findLast(({ watches }) => watches !== 'always');
    if (this.current === null && next) this.take(next);
  }

  /** Someone goes; false when they were gone already. The floor is free then, if it was theirs. */
  leave(listener: Listener): boolean {
    if (!this.listeners.delete(listener)) return false;
    if (this.current === listener) {
      this.current = null;
      this.onChange(null);
    }
    return true;
  }
}
