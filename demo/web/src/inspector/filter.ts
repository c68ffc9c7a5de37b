import type { Direction } from '../wire/wire-event.ts';
import type { Kind, Row } from './rows.ts';

/** Which rows are wanted. */
export interface Filter {
  text: string;
  direction: Direction | 'both';
  kinds: readonly Kind[];
}

/** The rows that are wanted, in order. */
export function filterRows(rows: readonly Row[], { text, direction, kinds }: Filter): readonly Row[] {
  const wanted = text.trim().toLowerCase();
  return rows.filter(
    (row) =>
      (direction === 'both' || row.direction === direction) &&
      kinds.includes(row.kind) &&
      (wanted === '' || holds(row, wanted)),
  );
}

function holds(row: Row, wanted: string): boolean {
  return (
    row.type.toLowerCase().includes(wanted) ||
    row.id?.toLowerCase().includes(wanted) === true ||
    row.body.toLowerCase().includes(wanted)
  );
}
