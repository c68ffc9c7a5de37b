import type { Timers } from './timers.ts';

/** Between two pings while nothing is awaited. A phone's radio sleeps in between. */
const IDLE_MS = 15_000;
/** Between two pings while an answer is awaited: a server that does not answer is given up before the lease of a node ends. */
const BUSY_MS = 2_000;
/** What a slow network carries upwards between two such pings. */
const BEAT_BYTES = 200_000;

/** What a pulse does with its connection. */
interface PulseContext {
  timers: Timers;
  /** The time between two pings while nothing is awaited. */
  ms: number | undefined;
  ping: () => void;
  /** The server answered neither of two pings. */
  onDeath: () => void;
  /** Closes a connection that the page does not need now, and returns whether it did. */
  pause: () => boolean;
  /** Whether nothing is awaited from the server. */
  isAtRest: () => boolean;
}

/** Finds out whether the server of a connection still answers: it pings, and every frame counts as an answer. */
export class Pulse {
  readonly #context: PulseContext;
  readonly #idleMs: number;
  readonly #busyMs: number;
  #unanswered = 0;
  /** How many intervals between pings a large frame may take to send; the pings queue after it. */
  #grace = 0;
  #isSlow = false;
  #cancel: (() => void) | undefined;

  constructor(context: PulseContext) {
    this.#context = context;
    this.#idleMs = context.ms ?? IDLE_MS;
    this.#busyMs = Math.min(BUSY_MS, this.#idleMs);
  }

  start(): void {
    this.#grace = 0;
    this.#unanswered = 0;
    this.#later();
  }

  /** A frame came. */
  heard(): void {
    this.#unanswered = 0;
    if (this.#isSlow && !this.#context.isAtRest()) this.#later();
  }

  /** A frame of that many bytes was sent: the server should answer soon. */
  sent(bytes: number): void {
    this.#grace += Math.floor(bytes / BEAT_BYTES);
    if (this.#isSlow) this.#after(this.#busyMs, () => this.#beat());
  }

  /** Pings at once, and waits for an answer for at most `ms`. */
  look(ms: number): void {
    this.#ping();
    this.#after(ms, () => (this.#unanswered > 0 ? this.#context.onDeath() : this.start()));
  }

  stop(): void {
    this.#isSlow = false;
    this.#cancel?.();
  }

  #beat(): void {
    const { onDeath, pause } = this.#context;
    if (this.#grace > 0) this.#grace--;
    else if (this.#unanswered >= 2) return onDeath();
    if (pause()) return;
    this.#ping();
    this.#later();
  }

  #ping(): void {
    this.#unanswered++;
    this.#context.ping();
  }

  #later(): void {
    const isSlow = this.#unanswered === 0 && this.#context.isAtRest();
    this.#after(isSlow ? this.#idleMs : this.#busyMs, () => this.#beat());
    this.#isSlow = isSlow;
  }

  #after(ms: number, work: () => void): void {
    this.stop();
    this.#cancel = this.#context.timers.after(ms, work);
  }
}
