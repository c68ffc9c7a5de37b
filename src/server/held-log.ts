import type { ChunkLog, LogEntry, ShownLog } from './log.ts';

/** A log of which only so much may be told as someone else has shown. */
export class HeldLog implements ShownLog {
  readonly isGathered: boolean;
  private readonly log: ChunkLog;
  private shown: number;
  private readonly listeners = new Set<() => void>();

  /** All that stands in it now may be told. */
  constructor(log: ChunkLog, { isGathered }: { isGathered: boolean }) {
    this.log = log;
    this.isGathered = isGathered;
    this.shown = log.last;
  }

  get epoch(): string {
    return this.log.epoch;
  }

  get first(): number {
    return this.log.first;
  }

  get last(): number {
    return this.shown;
  }

  get readers(): number {
    return this.listeners.size;
  }

  at(seq: number): LogEntry | undefined {
    return seq <= this.shown ? this.log.at(seq) : undefined;
  }

  /** Everything up to that number may be told. */
  show(seq: number): void {
    if (seq <= this.shown) return;
    this.shown = seq;
    for (const listener of this.listeners) listener();
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
