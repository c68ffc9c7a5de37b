import { fromText, toText } from '../store/text.ts';
import type { Database } from './database.ts';

/** A file that belongs to a session. */
export interface StoredFile {
  mediaType: string;
  bytes: Uint8Array;
}

/** The table of the files that belong to sessions. */
export function fileTable(db: Database) {
  const put = db.prepare('insert or replace into files (session, id, media_type, bytes) values (?, ?, ?, ?)');
  const find = db.prepare<{ media_type: string; bytes: Uint8Array }>(
    'select media_type, bytes from files where session = ? and id = ?',
  );

  return {
    put(session: number, id: string, { mediaType, bytes }: StoredFile): void {
      put.run(session, toText(id), toText(mediaType), bytes);
    },
    find(session: number, id: string): StoredFile | null {
      const row = find.first(session, toText(id));
      return row === undefined
        ? null
        : { mediaType: fromText(row.media_type), bytes: new Uint8Array(row.bytes) };
    },
  };
}
