import type { WireEvent } from '../wire/wire-event.ts';
import { type Row, RowFold } from './rows.ts';

/** Where rows come from: a recorder, or a replay. */
export interface WireSource {
  readonly events: readonly WireEvent[];
  /** How many events there were before the first of them. */
  readonly dropped: number;
  subscribe(listener: () => void): () => void;
}

/** The rows that are kept at most, and how many more may gather before the oldest go. */
const MAX_ROWS = 5_000;
const SLACK = 500;

/** The newest rows of a source, made as they are wanted. */
export class RowLog {
  private readonly source: WireSource;
  private readonly fold = new RowFold();
  private kept: Row[] = [];
  /** Rows of the last event that were not shown yet. */
  private ahead: Row[] = [];
  private next = 0;

  constructor(source: WireSource) {
    this.source = source;
  }

  get rows(): readonly Row[] {
    return this.kept;
  }

  /** Whether there is more to see. */
  get hasMore(): boolean {
    return this.ahead.length > 0 || this.next < this.source.dropped + this.source.events.length;
  }

  /** Takes all there is. */
  pull(): void {
    const made = this.ahead;
    this.ahead = [];
    while (this.hasMore) made.push(...this.read());
    this.keep(made);
  }

  /** Takes one row. */
  step(): void {
    while (this.ahead.length === 0 && this.hasMore) this.ahead = this.read();
    this.keep(this.ahead.splice(0, 1));
  }

  /** Forgets what was shown. */
  clear(): void {
    this.kept = [];
  }

  private read(): Row[] {
    const { events, dropped } = this.source;
    this.next = Math.max(this.next, dropped);
    const event = events[this.next - dropped];
    this.next++;
    return event ? this.fold.push(event) : [];
  }

  private keep(rows: readonly Row[]): void {
    if (rows.length === 0) return;
    const all = [...this.kept, ...rows];
    this.kept = all.length > MAX_ROWS + SLACK ? all.slice(-MAX_ROWS) : all;
  }
}
