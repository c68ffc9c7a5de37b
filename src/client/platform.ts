/** The clock and the random numbers that the client uses. A test can replace them. */
export interface Timers {
  /** Milliseconds since 1970. */
  now(): number;
  /** A number from 0 up to, but not including, 1. */
  random(): number;
  /** Runs `work` after `ms` milliseconds. The returned function cancels it. */
  after(ms: number, work: () => void): () => void;
}

/** The timers of the JavaScript engine. */
export const systemTimers: Timers = {
  now: () => Date.now(),
  random: () => Math.random(),
  after(ms, work) {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};

/** What the browser reports about the network and the visibility of the page. */
export interface Network {
  isOnline(): boolean;
  /** Whether the page is in a background tab or a minimised window. */
  isHidden?(): boolean;
  /** Calls the listener when the page becomes visible and when the network comes or goes. The returned function unsubscribes. */
  onReturn(listener: () => void): () => void;
}

/** The network as the browser reports it. Outside a browser it never calls the listener, and the network is always online. */
export const browserNetwork: Network = {
  isOnline: () => globalThis.navigator?.onLine !== false,
  isHidden: () => globalThis.document?.visibilityState === 'hidden',
  onReturn(listener) {
    const page: Document | undefined = globalThis.document;
    if (!page) return () => undefined;
    const onVisible = () => {
      if (page.visibilityState === 'visible') listener();
    };
    globalThis.addEventListener('online', listener);
    globalThis.addEventListener('offline', listener);
    page.addEventListener('visibilitychange', onVisible);
    return () => {
      globalThis.removeEventListener('online', listener);
      globalThis.removeEventListener('offline', listener);
      page.removeEventListener('visibilitychange', onVisible);
    };
  },
};

/** A set of listeners. They are called in the order in which they were added. */
export class Listeners<T extends unknown[]> {
  readonly #all = new Set<(...args: T) => void>();

  /** Adds a listener. The returned function removes it. */
  add(listener: (...args: T) => void): () => void {
    this.#all.add(listener);
    return () => this.#all.delete(listener);
  }

  /** Calls every listener. A listener that another listener adds or removes meanwhile is added or removed for the next `notify`. */
  notify(...args: T): void {
    for (const listener of [...this.#all]) listener(...args);
  }
}
