import { fromJson } from '../store/json.ts';
import { toText } from '../store/text.ts';
import type { Database } from './database.ts';

/** A table of JSON texts that belong to sessions, each under an id, in the order in which they came. */
export function documentTable<T>(db: Database, table: 'events' | 'messages' | 'waiting') {
  const put = db.prepare(
    `insert into ${table} (session, seq, id, data)
     values (?, (select coalesce(max(seq), 0) + 1 from ${table} where session = ?), ?, ?)
     on conflict (session, id) do update set data = excluded.data`,
  );
  const all = db.prepare<{ data: string }>(`select data from ${table} where session = ? order by seq`);

  return {
    /** Adds a text at the end, or replaces the one with its id where it stands. */
    put(session: number, id: string, json: string): void {
      put.run(session, session, toText(id), json);
    },
    all(session: number): T[] {
      return all.all(session).map((row) => fromJson<T>(row.data));
    },
  };
}
