import type { Row } from './rows.ts';

/** A line of the list: a turn, a row of it, or a run of deltas that stand together. */
export type Line =
  | { kind: 'turn'; key: string; turn: Turn }
  | { kind: 'row'; key: string; row: Row }
  | { kind: 'run'; key: string; run: Run; isUnfolded: boolean };

/** What was said and what it took, from one message of the person to the next. */
export interface Turn {
  number: number;
  at: number;
  wire: Row['wire'];
  /** What the person said. */
  title: string;
  rows: number;
  /** From what was asked to the first word of the answer; null when there was none. */
  firstTokenMs: number | null;
}

/** Deltas of one block, one after the other. */
export interface Run {
  type: string;
  rows: readonly Row[];
  text: string;
}

/** The lines of a list of rows. A run is one line, until it is unfolded. */
export function linesOf(rows: readonly Row[], unfolded: ReadonlySet<string>): Line[] {
  const lines: Line[] = [];
  let turn: Turn | undefined;
  for (let index = 0; index < rows.length; ) {
    const row = rows[index] as Row;
    if (turn?.number !== row.turn) {
      turn = { number: row.turn, at: row.at, wire: row.wire, title: '', rows: 0, firstTokenMs: null };
      lines.push({ kind: 'turn', key: `turn-${row.turn}`, turn });
    }
    const run = runFrom(rows, index);
    for (const one of run) note(turn, one);
    index += run.length;
    if (run.length === 1) {
      lines.push({ kind: 'row', key: String(row.number), row });
      continue;
    }
    const key = `run-${row.number}`;
    const isUnfolded = unfolded.has(key);
    const text = run.map(({ body }) => deltaIn(body)).join('');
    lines.push({ kind: 'run', key, run: { type: row.type, rows: run, text }, isUnfolded });
    if (isUnfolded) for (const one of run) lines.push({ kind: 'row', key: String(one.number), row: one });
  }
  return lines;
}

function note(turn: Turn, row: Row): void {
  turn.rows++;
  if (turn.title === '' && row.isSaid) turn.title = row.summary;
  const isToken = row.direction === 'in' && /^(text|reasoning)-delta$/.test(row.type);
  if (isToken && turn.firstTokenMs === null && turn.number > 0) turn.firstTokenMs = row.at - turn.at;
}

/** The rows from here on that belong to one run; one alone when there is none. */
function runFrom(rows: readonly Row[], from: number): readonly Row[] {
  const first = rows[from] as Row;
  if (!first.type.endsWith('-delta')) return [first];
  let to = from + 1;
  while (to < rows.length && isOfRun(rows[to] as Row, first)) to++;
  return rows.slice(from, to);
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
