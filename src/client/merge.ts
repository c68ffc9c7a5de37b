import type { Chunk } from '../protocol/chunks.ts';

type Delta = Extract<Chunk, { type: 'text-delta' | 'reasoning-delta' }>;

/** Joins deltas of one block that stand next to each other. `push` holds a delta back; anything else lets it go first. */
export class DeltaMerger {
  #held: Delta | null = null;

  push(chunk: Chunk): Chunk[] {
    if (!isDelta(chunk)) return [...this.end(), chunk];
    const held = this.#held;
    if (held?.type === chunk.type && held.id === chunk.id) {
      this.#held = { ...held, delta: held.delta + chunk.delta };
      return [];
    }
    const out = this.end();
    this.#held = chunk;
    return out;
  }

  end(): Chunk[] {
    const held = this.#held;
    this.#held = null;
    return held === null ? [] : [held];
  }
}

/** Whether a chunk is a piece of text that may be joined with its neighbours. */
export function isDelta(chunk: Chunk): chunk is Delta {
  return (chunk.type === 'text-delta' || chunk.type === 'reasoning-delta') && !chunk.providerMetadata;
}
