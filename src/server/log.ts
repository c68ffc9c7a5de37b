import type { Chunk } from '../protocol/index.ts';

/** An entry of the log: a chunk, or the end of a response. Every entry has a number; only chunks carry it as their id. */
export interface LogEntry {
  seq: number;
  /** Null marks the end of a response. */
  chunk: Chunk | null;
}

const MAX_ENTRIES = 50_000;

/**
 * What a session has sent, in order, so that a client that lost its connection gets the rest. In memory and bounded:
 * what fell off its head is gone, and a reader that still needs it must start from a snapshot.
 */
export class ChunkLog {
  readonly epoch: string;
  private entries: LogEntry[] = [];
  /** The number of the entry at index 0 of `entries`. */
  private base = 1;
  private readonly listeners = new Set<() => void>();

  constructor(epoch: string) {
    this.epoch = epoch;
  }

  /** The number of the last entry, 0 when there is none. */
  get last(): number {
    return this.base + this.entries.length - 1;
  }

  /** The number of the oldest entry still kept. */
  get first(): number {
    return this.base;
  }

  append(chunk: Chunk | null): number {
    const seq = this.last + 1;
    this.entries.push({ seq, chunk });
    if (this.entries.length > MAX_ENTRIES) this.drop(this.base + MAX_ENTRIES / 2);
    for (const listener of this.listeners) listener();
    return seq;
  }

  /** The entry with that number, if it is kept. */
  at(seq: number): LogEntry | undefined {
    return this.entries[seq - this.base];
  }

  /** Forgets every entry before that number. */
  drop(before: number): void {
    const count = Math.min(Math.max(before - this.base, 0), this.entries.length);
    if (count === 0) return;
    this.entries = this.entries.slice(count);
    this.base += count;
  }

  /** Calls the listener after every append; the returned function ends that. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** How many readers listen. */
  get readers(): number {
    return this.listeners.size;
  }
}
