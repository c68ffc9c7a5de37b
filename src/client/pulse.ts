import type { Timers } from './timers.ts';

const HEARTBEAT_MS = 15_000;

/** Whether the other side of a connection still lives: asks now and then, and whatever is heard is an answer. */
export class Pulse {
  readonly #timers: Timers;
  readonly #ms: number;
  readonly #send: () => void;
  readonly #onDeath: () => void;
  readonly #rest: () => boolean;
  #unanswered = 0;
  #cancel: (() => void) | undefined;

  /** `send` asks; `onDeath` hears that nothing came; `rest` lets go of a connection that nobody needs now, and says whether it did. */
  constructor(
    timers: Timers,
    ms: number | undefined,
    send: () => void,
    onDeath: () => void,
    rest: () => boolean,
  ) {
    this.#timers = timers;
    this.#ms = ms ?? HEARTBEAT_MS;
    this.#send = send;
    this.#onDeath = onDeath;
    this.#rest = rest;
  }

  start(): void {
    this.heard();
    this.#after(this.#ms, () => this.#beat());
  }

  heard(): void {
    this.#unanswered = 0;
  }

  /** Asks at once, and waits only so long. */
  look(ms: number): void {
    this.#ping();
    this.#after(ms, () => (this.#unanswered > 0 ? this.#onDeath() : this.start()));
  }

  stop(): void {
    this.#cancel?.();
  }

  #beat(): void {
    if (this.#unanswered >= 2) return this.#onDeath();
    if (this.#rest()) return;
    this.#ping();
    this.#after(this.#ms, () => this.#beat());
  }

  #ping(): void {
    this.#unanswered++;
    this.#send();
  }

  #after(ms: number, work: () => void): void {
    this.stop();
    this.#cancel = this.#timers.after(ms, work);
  }
}
