import type { UIMessageChunk } from 'ai';
import { ResponseStream } from './response-stream.ts';
import type { Timers } from './timers.ts';

/** A response that was just opened. */
export interface Opened {
  number: number;
  readable: ReadableStream<UIMessageChunk>;
}

/** The responses that the chat reads now, by number. */
export class Readings {
  readonly #streams = new Map<number, ResponseStream>();
  readonly #timers: Timers;
  readonly #mergeMs: number;
  readonly #onLeave: (number: number) => void;
  #count = 0;

  constructor(timers: Timers, mergeMs: number, onLeave: (number: number) => void) {
    this.#timers = timers;
    this.#mergeMs = mergeMs;
    this.#onLeave = onLeave;
  }

  open(): Opened {
    const number = ++this.#count;
    const stream = new ResponseStream(this.#timers, this.#mergeMs, () => this.#onLeave(number));
    this.#streams.set(number, stream);
    return { number, readable: stream.readable as ReadableStream<UIMessageChunk> };
  }

  get(number: number): ResponseStream | undefined {
    return this.#streams.get(number);
  }

  /** Takes a response out: it is over. */
  take(number: number): ResponseStream | undefined {
    const stream = this.#streams.get(number);
    this.#streams.delete(number);
    return stream;
  }

  get numbers(): number[] {
    return [...this.#streams.keys()];
  }
}
