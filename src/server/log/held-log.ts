import type { ChunkLog, LogEntry, ShownLog } from './log.ts';

/** Whether this process can be sure that no other has taken its sessions over. */
export interface Lease {
  readonly isSure: boolean;
  /** Calls back when it is sure again; the returned function ends that. */
  onSure(callback: () => void): () => void;
}

/** A log of which only so much may be told as someone else has shown. */
export class HeldLog implements ShownLog {
  readonly isGathered: boolean;
  private readonly log: ChunkLog;
  private readonly lease: Lease | null;
  private shown: number;
  private readonly listeners = new Set<() => void>();

  /** All that stands in it now may be told. */
  constructor(log: ChunkLog, { isGathered, lease }: { isGathered: boolean; lease: Lease | null }) {
    this.log = log;
    this.lease = lease;
    this.isGathered = isGathered;
    this.shown = log.last;
  }

  get isHeld(): boolean {
    return this.lease?.isSure === false;
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
