import type { Chunk } from '../protocol/chunks.ts';
import { endedCall } from './call-tracker.ts';
import { DeltaMerger } from './merge.ts';

/** Chunks of a message that wait for a reader. Deltas are joined, so that a long wait costs no more than its text. */
export class KeptChunks {
  readonly #chunks: Chunk[] = [];
  readonly #merger = new DeltaMerger();
  /** Whether all of it so far is a repetition, else how many chunks are. */
  #replayed: number | 'all' = 'all';

  /** `isReplay`: it was said before the connection began. */
  push(chunk: Chunk, isReplay: boolean): void {
    if (this.#replayed === 'all' && !isReplay) {
      this.#chunks.push(...this.#merger.end());
      this.#replayed = this.#chunks.length;
    }
    this.#chunks.push(...this.#merger.push(chunk));
  }

  /** Whether nothing came but that the message goes on, and nothing of it is repeated. */
  get isBare(): boolean {
    return this.#replayed === 0 && this.#chunks.length === 1 && this.#chunks[0]?.type === 'start';
  }

  /** What a page reads of it. One that shows the message already wants of the repeated chunks only how calls ended. */
  read(isShown: boolean): Chunk[] {
    const all = [...this.#chunks, ...this.#merger.end()];
    if (!isShown) return all;
    const replayed = this.#replayed;
    return all.filter(
      (chunk, index) => (replayed !== 'all' && index >= replayed) || endedCall(chunk) !== null,
    );
  }
}
