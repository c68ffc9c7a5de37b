import type { Message } from '../../protocol/index.ts';
import { fromJson } from '../store/json.ts';
import { fitting } from '../store/rules.ts';
import type { Page, PageRequest } from '../store/store.ts';
import { toText } from '../store/text.ts';
import type { Database } from './database.ts';
import { documentTable } from './documents.ts';

/** The table of the messages as the browser shows them. */
export function messageTable(db: Database) {
  const place = db.prepare<{ seq: number }>('select seq from messages where session = ? and id = ?');
  const sizes = db.prepare<{ size: number }>(
    'select octet_length(data) as size from messages where session = ? and seq < ? order by seq desc limit ?',
  );
  const before = db.prepare<{ data: string }>(
    'select data from messages where session = ? and seq < ? order by seq desc limit ?',
  );
  const truncate = db.prepare(
    `delete from messages where session = ?
     and seq >= (select seq from messages where session = ? and id = ?)`,
  );

  return {
    ...documentTable<Message>(db, 'messages'),
    /** The last messages, or the last before one that is named; null when that is not there. */
    page(session: number, { before: id, count, bytes }: PageRequest): Page | null {
      const cursor = id === undefined ? Number.MAX_SAFE_INTEGER : place.first(session, toText(id))?.seq;
      if (cursor === undefined) return null;
      const found = sizes.all(session, cursor, count + 1).map(({ size }) => size);
      const fit = fitting(found, count, bytes);
      const rows = before.all(session, cursor, fit);
      return {
        messages: rows.map((row) => fromJson<Message>(row.data)).reverse(),
        hasOlder: found.length > fit,
      };
    },
    /** Removes a message and all after it; false when it is not there. */
    truncate(session: number, id: string): boolean {
      return truncate.run(session, session, toText(id)) > 0;
    },
  };
}
