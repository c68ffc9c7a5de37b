import type { Chunk } from '../../protocol/chunks.ts';
import type { Timers } from '../platform.ts';

type Delta = Extract<Chunk, { type: 'text-delta' | 'reasoning-delta' }>;

function isDelta(chunk: Chunk): chunk is Delta {
  return (chunk.type === 'text-delta' || chunk.type === 'reasoning-delta') && !chunk.providerMetadata;
}

/** Joins two consecutive deltas of the same block. Null when the chunks are not deltas of one block. */
export function joinDeltas(first: Chunk | null | undefined, second: Chunk): Delta | null {
  if (!first || !isDelta(first) || !isDelta(second)) return null;
  const isSameBlock = first.type === second.type && first.id === second.id;
  return isSameBlock ? { ...first, delta: first.delta + second.delta } : null;
}

/**
 * Deltas that arrive within a short time (the window) are joined to one. The longer a text, the longer the page takes to draw it. So the window grows
 * by its initial length for every `STEP_LENGTH` characters, up to `MAX_STEPS` times that length.
 */
const STEP_LENGTH = 2_500;
const MAX_STEPS = 4;
/** When text arrives faster than this many characters a millisecond, which no model reaches, the next window is `FLOOD_FACTOR` times as long. */
const FLOOD = 16;
const FLOOD_FACTOR = 6;

/**
 * One response as `useChat` reads it. The first delta is passed on at once, and the deltas that follow within the window are passed on as
 * one. So the page draws the text once for each window instead of once for each word. All other chunks are passed on at once. The order
 * of the chunks does not change.
 */
export class ResponseStream {
  readonly readable: ReadableStream<Chunk>;
  /** The deltas that arrived within the window, joined to one. */
  #held: Delta | null = null;
  readonly #timers: Timers;
  readonly #windowMs: number;
  #controller: ReadableStreamDefaultController<Chunk> | null = null;
  #closeWindow: (() => void) | null = null;
  /** Whether the reader has processed all chunks and asks for more. */
  #isRead = false;
  #ending: ReadableStreamDefaultController<Chunk> | null = null;
  #isEnded = false;
  #isFinished = false;
  #onFinished: (() => void) | null = null;
  /** How many characters have arrived in deltas. */
  #length = 0;

  /** `onCancel` is called when the reader cancels the stream. */
  constructor(timers: Timers, windowMs: number, onCancel: () => void) {
    this.#timers = timers;
    this.#windowMs = windowMs;
    this.readable = new ReadableStream<Chunk>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#wasRead(),
        cancel: () => {
          this.#detach();
          this.#ending = null;
          onCancel();
          this.#finish();
        },
      },
      // With 0 the stream does not read ahead, so `pull` means that the reader has processed all chunks that it got.
      { highWaterMark: 0 },
    );
  }

  /** Whether `end` or `fail` was called. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Whether the stream has ended, and its reader has processed all chunks or has cancelled it. The chat then no longer changes its messages. */
  get isFinished(): boolean {
    return this.#isFinished;
  }

  /** Calls `work` once, when the stream is finished. */
  whenFinished(work: () => void): void {
    this.#onFinished = work;
  }

  write(chunk: Chunk): void {
    const joined = joinDeltas(this.#held, chunk);
    if (!joined) this.#flush();
    if (!isDelta(chunk)) return this.#enqueue(chunk);
    this.#held = joined ?? chunk;
    this.#length += chunk.delta.length;
    if (this.#closeWindow) return;
    this.#flush();
    this.#openWindow();
  }

  /** Ends the stream after the chunks that the reader has not read yet. */
  end(): void {
    this.#flush();
    this.#ending ??= this.#controller;
    this.#isEnded = true;
    this.#detach();
    if (this.#isRead) this.#wasRead();
  }

  /** Ends the stream with an error. */
  fail(error: Error): void {
    this.#flush();
    const controller = this.#controller;
    this.#isEnded = true;
    this.#detach();
    // `controller.error` discards the chunks that are still queued. Call it in a later task, so that the reader can read them first.
    this.#timers.after(0, () => controller?.error(error));
  }

  #openWindow(factor = 1): void {
    const steps = Math.min(MAX_STEPS, 1 + Math.floor(this.#length / STEP_LENGTH));
    const before = this.#length;
    const ms = this.#windowMs * steps * factor;
    this.#closeWindow = this.#timers.after(ms, () => {
      this.#closeWindow = null;
      const isFlood = this.#length - before > FLOOD * ms;
      if (this.#flush()) this.#openWindow(isFlood ? FLOOD_FACTOR : 1);
    });
  }

  /** Passes the held delta on. Returns whether there was one. */
  #flush(): boolean {
    const held = this.#held;
    this.#held = null;
    if (held) this.#enqueue(held);
    return held !== null;
  }

  #enqueue(chunk: Chunk): void {
    this.#isRead = false;
    this.#controller?.enqueue(chunk);
  }

  #wasRead(): void {
    this.#isRead = true;
    if (!this.#ending) return;
    this.#ending.close();
    this.#ending = null;
    this.#finish();
  }

  #finish(): void {
    this.#isFinished = true;
    this.#onFinished?.();
  }

  #detach(): void {
    this.#controller = null;
    this.#closeWindow?.();
    this.#closeWindow = null;
  }
}
