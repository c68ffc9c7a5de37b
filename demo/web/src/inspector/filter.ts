import type { Target } from '../wire/inspection.tsx';
import type { Direction } from '../wire/wire-event.ts';
import type { Kind, Row } from './rows.ts';

/** The conditions for rows to be shown. */
export interface Filter {
  text: string;
  direction: Direction | 'both';
  kinds: readonly Kind[];
  /** Shows only rows of this message or call; null for all. */
  target: Target | null;
}

/** The rows that meet all conditions, in order. */
export function filterRows(rows: readonly Row[], { text, direction, kinds, target }: Filter): readonly Row[] {
  const wanted = text.trim().toLowerCase();
  return rows.filter(
    (row) =>
      (direction === 'both' || row.direction === direction) &&
      kinds.includes(row.kind) &&
      isAbout(row, target) &&
      (wanted === '' || holds(row, wanted)),
  );
}

function isAbout(row: Row, target: Target | null): boolean {
  if (target === null) return true;
  return 'toolCallId' in target ? row.toolCallId === target.toolCallId : row.messageId === target.messageId;
}

function holds(row: Row, wanted: string): boolean {
  return (
    row.type.toLowerCase().includes(wanted) ||
    row.id?.toLowerCase().includes(wanted) === true ||
    row.body.toLowerCase().includes(wanted)
  );
}
