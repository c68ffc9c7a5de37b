import type { Timers } from '../platform.ts';

/** Milliseconds between two pings while the page expects no answer of the agent. It is long, so that a phone's radio can sleep between pings. */
const IDLE_MS = 15_000;
/**
 * Milliseconds between two pings while the page expects an answer. It is short, so that the client detects a dead node within 6 s, at about the time
 * when the lease of that node ends (5 s) and another node can take the session over.
 */
const BUSY_MS = 2_000;
/** How many bytes a slow network uploads in `BUSY_MS`. A larger frame delays the next ping, which waits in the socket until the frame has left. */
const BYTES_PER_BEAT = 200_000;

/** The options of a heartbeat, and its callbacks to the connection. */
interface HeartbeatContext {
  timers: Timers;
  /** The time between two pings while no answer is expected; `IDLE_MS` when undefined. */
  idleMs: number | undefined;
  ping: () => void;
  /** Called when the server has answered neither of two pings, or has not answered the ping of `check` in time. */
  onDeath: () => void;
  /** Closes the connection if the page does not need it now. Returns whether it was closed. */
  pause: () => boolean;
}

/** Detects a server that no longer answers. It sends pings, and treats every frame of the server as an answer. */
export class Heartbeat {
  readonly #context: HeartbeatContext;
  readonly #idleMs: number;
  readonly #busyMs: number;
  #isAtRest = false;
  #unanswered = 0;
  /** How many of the next pings are sent even if earlier ones are unanswered, because pings wait in the socket until large frames have left. */
  #grace = 0;
  /** Whether the timer of the next ping was started with `idleMs`. */
  #isSlow = false;
  #cancel: (() => void) | undefined;

  constructor(context: HeartbeatContext) {
    this.#context = context;
    this.#idleMs = context.idleMs ?? IDLE_MS;
    this.#busyMs = Math.min(BUSY_MS, this.#idleMs);
  }

  get isAtRest(): boolean {
    return this.#isAtRest;
  }

  start(): void {
    this.#grace = 0;
    this.#unanswered = 0;
    this.#schedule();
  }

  stop(): void {
    this.#isSlow = false;
    this.#cancel?.();
  }

  /** Sets whether the page expects nothing from the server. While it expects something, pings are more frequent. */
  setAtRest(isAtRest: boolean): void {
    this.#isAtRest = isAtRest;
    if (this.#isSlow && !isAtRest) this.#schedule();
  }

  /** Call it when the server sent something. */
  received(): void {
    this.#unanswered = 0;
  }

  /** Call it when the client sent a frame of `size` bytes or characters. The next ping then follows soon, and shows whether the server still answers. */
  sent(size: number): void {
    this.#grace += Math.floor(size / BYTES_PER_BEAT);
    if (this.#isSlow) this.#after(this.#busyMs, () => this.#beat());
  }

  /** Pings now, and calls `onDeath` when no answer arrives within `ms` milliseconds. */
  check(ms: number): void {
    this.#ping();
    this.#after(ms, () => (this.#unanswered > 0 ? this.#context.onDeath() : this.start()));
  }

  #beat(): void {
    const { onDeath, pause } = this.#context;
    if (this.#grace > 0) this.#grace--;
    else if (this.#unanswered >= 2) return onDeath();
    if (pause()) return;
    this.#ping();
    this.#schedule();
  }

  #ping(): void {
    this.#unanswered++;
    this.#context.ping();
  }

  #schedule(): void {
    const isSlow = this.#unanswered === 0 && this.#isAtRest;
    this.#after(isSlow ? this.#idleMs : this.#busyMs, () => this.#beat());
    this.#isSlow = isSlow;
  }

  #after(ms: number, work: () => void): void {
    this.stop();
    this.#cancel = this.#context.timers.after(ms, work);
  }
}
