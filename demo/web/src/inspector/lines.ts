import type { Row } from './rows.ts';

/** A line of the list: the header of a turn, a row, or a run of deltas. */
export type Line =
  | { kind: 'turn'; key: string; turn: Turn }
  | { kind: 'row'; key: string; row: Row }
  | { kind: 'run'; key: string; run: Run; isUnfolded: boolean };

/** The rows from one user message to the next, with their times and counts. */
export interface Turn {
  number: number;
  at: number;
  wire: Row['wire'];
  /** The text of the user message. */
  title: string;
  rows: number;
  /** The milliseconds from the user message to the first delta; null when no delta came. */
  firstTokenMs: number | null;
}

/** Consecutive deltas of one text block. */
export interface Run {
  type: string;
  rows: readonly Row[];
  text: string;
}

/** Groups rows into lines. A run is one line unless its key is in `unfolded`. */
export function linesOf(rows: readonly Row[], unfolded: ReadonlySet<string>): Line[] {
  const lines: Line[] = [];
  let turn: Turn | undefined;
  for (let index = 0; index < rows.length; ) {
    const row = rows[index] as Row;
    if (turn?.number !== row.turn) {
      turn = { number: row.turn, at: row.at, wire: row.wire, title: '', rows: 0, firstTokenMs: null };
      lines.push({ kind: 'turn', key: `turn-${row.turn}`, turn });
    }
    const { run, beside, next } = runFrom(rows, index);
    for (const one of [...run, ...beside]) note(turn, one);
    index = next;
    if (run.length === 1) lines.push({ kind: 'row', key: String(row.number), row });
    else {
      const key = `run-${row.number}`;
      const isUnfolded = unfolded.has(key);
      const text = run.map(({ body }) => deltaIn(body)).join('');
      lines.push({ kind: 'run', key, run: { type: row.type, rows: run, text }, isUnfolded });
      if (isUnfolded) for (const one of run) lines.push({ kind: 'row', key: String(one.number), row: one });
    }
    for (const one of beside) lines.push({ kind: 'row', key: String(one.number), row: one });
  }
  return lines;
}

function note(turn: Turn, row: Row): void {
  turn.rows++;
  if (turn.title === '' && row.isUserText) turn.title = row.summary;
  const isToken = row.direction === 'in' && /^(text|reasoning)-delta$/.test(row.type);
  if (isToken && turn.firstTokenMs === null && turn.number > 0) turn.firstTokenMs = row.at - turn.at;
}

/**
 * The rows from `from` on that belong to one run, or only the first row when it begins none. Pings and pongs between
 * them do not end the run: they are returned in `beside`, and follow the run in the list.
 */
function runFrom(rows: readonly Row[], from: number): { run: Row[]; beside: Row[]; next: number } {
  const first = rows[from] as Row;
  const run = [first];
  const beside: Row[] = [];
  let next = from + 1;
  if (!first.type.endsWith('-delta')) return { run, beside, next };
  let heartbeats: Row[] = [];
  for (let index = next; index < rows.length; index++) {
    const row = rows[index] as Row;
    if (row.type === 'ping' || row.type === 'pong') heartbeats.push(row);
    else if (isOfRun(row, first)) {
      run.push(row);
      beside.push(...heartbeats);
      heartbeats = [];
      next = index + 1;
    } else break;
  }
  return { run, beside, next };
}

function isOfRun(row: Row, first: Row): boolean {
  return (
    row.type === first.type &&
    row.channel === first.channel &&
    row.messageId === first.messageId &&
    row.turn === first.turn
  );
}

function deltaIn(body: string): string {
  try {
    const { delta } = JSON.parse(body) as { delta?: unknown };
    return typeof delta === 'string' ? delta : '';
  } catch {
    return '';
  }
}
