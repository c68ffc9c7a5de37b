import type { WireEvent } from '../wire/wire-event.ts';
import { type Row, RowFold } from './rows.ts';

/** The source of rows: a recorder, or a replay. */
export interface WireSource {
  readonly events: readonly WireEvent[];
  /** How many older events the source has discarded. */
  readonly dropped: number;
  subscribe(listener: () => void): () => void;
}

/** The number of rows to keep. Older rows are removed when there are `SLACK` more than that. */
const MAX_ROWS = 5_000;
const SLACK = 500;

/** The newest rows of a source. Events are converted to rows only when they are pulled. */
export class RowLog {
  private readonly source: WireSource;
  private readonly fold = new RowFold();
  private kept: Row[] = [];
  /** Rows of the last pulled event that `step` has not shown yet. */
  private ahead: Row[] = [];
  private next = 0;

  constructor(source: WireSource) {
    this.source = source;
  }

  get rows(): readonly Row[] {
    return this.kept;
  }

  /** Whether rows are left that are not shown yet. */
  get hasMore(): boolean {
    return this.ahead.length > 0 || this.next < this.source.dropped + this.source.events.length;
  }

  /** Shows all rows. */
  pull(): void {
    const made = this.ahead;
    this.ahead = [];
    while (this.hasMore) made.push(...this.read());
    this.keep(made);
  }

  /** Shows one more row. */
  step(): void {
    while (this.ahead.length === 0 && this.hasMore) this.ahead = this.read();
    this.keep(this.ahead.splice(0, 1));
  }

  /** Removes the rows that are shown. */
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
