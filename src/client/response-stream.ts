import type { Chunk } from '../protocol/chunks.ts';
import { DeltaMerger, isDelta } from './merge.ts';
import type { Timers } from './timers.ts';

/** A text takes the longer to draw the longer it is: with every so many characters the window grows by itself, up to a limit. */
const STEP_LENGTH = 2_500;
const MAX_STEPS = 4;
/** Faster than any model writes, in characters a millisecond: what follows may come in larger pieces. */
const FLOOD = 16;
const FLOOD_FACTOR = 6;

/**
 * One response as `useChat` reads it. The first delta leaves at once; those that follow within the window leave together,
 * so that a chat is drawn once a frame and not once a word, a long one less often, and a flood still less. Everything
 * else leaves at once, and in order.
 */
export class ResponseStream {
  readonly readable: ReadableStream<Chunk>;
  readonly #merger = new DeltaMerger();
  readonly #timers: Timers;
  readonly #windowMs: number;
  #controller: ReadableStreamDefaultController<Chunk> | null = null;
  #closeWindow: (() => void) | null = null;
  /** Whether the reader has worked on all that came, and asks for more. */
  #isRead = false;
  #onRead: (() => void) | undefined;
  #ending: ReadableStreamDefaultController<Chunk> | null = null;
  /** How many characters have come in deltas. */
  #length = 0;

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
          this.#drop();
          this.#ending = null;
          onCancel();
          this.#wasRead();
        },
      },
      // Nothing is asked for ahead: a reader that wants more has worked on all that it had.
      { highWaterMark: 0 },
    );
  }

  get isOpen(): boolean {
    return this.#controller !== null;
  }

  write(chunk: Chunk): void {
    this.#enqueue(this.#merger.push(chunk));
    if (!isDelta(chunk)) return;
    this.#length += chunk.delta.length;
    if (this.#closeWindow) return;
    this.#enqueue(this.#merger.end());
    this.#openWindow();
  }

  /** Ends. Says when the reader has worked on all that came, or has left: a chat then writes no more of this response. */
  end(onRead?: () => void): void {
    this.#enqueue(this.#merger.end());
    this.#ending = this.#controller;
    this.#onRead = onRead;
    this.#drop();
    if (this.#isRead) this.#wasRead();
  }

  fail(error: Error): void {
    this.#enqueue(this.#merger.end());
    const controller = this.#controller;
    this.#drop();
    // A stream that fails forgets what was not read yet: its reader gets a moment.
    this.#timers.after(0, () => controller?.error(error));
  }

  #openWindow(factor = 1): void {
    const steps = Math.min(MAX_STEPS, 1 + Math.floor(this.#length / STEP_LENGTH));
    const before = this.#length;
    const ms = this.#windowMs * steps * factor;
    this.#closeWindow = this.#timers.after(ms, () => {
      this.#closeWindow = null;
      const gathered = this.#merger.end();
      this.#enqueue(gathered);
      const isFlood = this.#length - before > FLOOD * ms;
      if (gathered.length > 0) this.#openWindow(isFlood ? FLOOD_FACTOR : 1);
    });
  }

  #enqueue(chunks: Chunk[]): void {
    for (const chunk of chunks) {
      this.#isRead = false;
      this.#controller?.enqueue(chunk);
    }
  }

  #wasRead(): void {
    this.#isRead = true;
    this.#ending?.close();
    this.#ending = null;
    this.#onRead?.();
    this.#onRead = undefined;
  }

  #drop(): void {
    this.#controller = null;
    this.#closeWindow?.();
    this.#closeWindow = null;
  }
}
