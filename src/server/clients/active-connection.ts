import type { Listener } from '../registry/session.ts';

/**
 * The listeners of a conversation, and which of them has the active connection: it alone gets sound and runs the browser's tools. A
 * listener that cannot watch becomes active when it joins, and is ended when another becomes active.
 */
export class ActiveConnection {
  private readonly listeners = new Set<Listener>();
  private current: Listener | null = null;
  private readonly onChange: (holder: Listener | null) => void;

  /** `onChange` is called after every change, with the listener that is active now. */
  constructor(onChange: (holder: Listener | null) => void) {
    this.onChange = onChange;
  }

  /** The active listener; null when there is none. */
  get holder(): Listener | null {
    return this.current;
  }

  get all(): Listener[] {
    return [...this.listeners];
  }

  get isEmpty(): boolean {
    return this.listeners.size === 0;
  }

  /** Whether a listener is there that can watch while another is active. */
  get isWatched(): boolean {
    return this.all.some(({ watches }) => watches !== 'never');
  }

  has(listener: Listener): boolean {
    return this.listeners.has(listener);
  }

  /** Adds a listener. It becomes active when no other is, or when it cannot stay connected beside an active one (`watches`). */
  join(listener: Listener): void {
    this.listeners.add(listener);
    if (this.current === null || listener.watches === 'never') this.claim(listener);
  }

  /** Makes a listener active, because its client does something that only one client can do. */
  claim(listener: Listener): void {
    const before = this.current;
    if (before === listener || listener.watches === 'always' || !this.listeners.has(listener)) return;
    this.current = listener;
    if (before?.watches === 'never') {
      this.listeners.delete(before);
      before.end('taken_over', 'This conversation is open somewhere else now.');
    }
    this.onChange(listener);
  }

  /** Makes no listener active, because a client sends over HTTP. A listener that cannot watch stays active. */
  release(): void {
    if (this.current?.watches !== 'when-another-speaks') return;
    this.current = null;
    this.onChange(null);
  }

  /** The active client did not come back: of the listeners that may be active, the one that joined last becomes active. */
  passOn(): void {
    const next = this.all.findLast(({ watches }) => watches !== 'always');
    if (this.current === null && next) this.claim(next);
  }

  /** Removes a listener; false when it was removed before. */
  leave(listener: Listener): boolean {
    if (!this.listeners.delete(listener)) return false;
    if (this.current === listener) {
      this.current = null;
      this.onChange(null);
    }
    return true;
  }
}
