import { orNull, type RequestRow, requestOf } from '../store/rows.ts';
import { type AcceptedRequest, MAX_REQUESTS } from '../store/store.ts';
import { toText } from '../store/text.ts';
import type { Database } from './database.ts';

/** The table of the requests that were accepted last. */
export function requestTable(db: Database) {
  const add = db.prepare(
    `insert or replace into requests (session, seq, request_id, message_id, parts)
     values (?, (select coalesce(max(seq), 0) + 1 from requests where session = ?), ?, ?, ?)`,
  );
  const dropOldest = db.prepare(
    'delete from requests where session = ? and seq <= (select max(seq) from requests where session = ?) - ?',
  );
  const all = db.prepare<RequestRow>(
    'select request_id, message_id, parts from requests where session = ? order by seq',
  );

  return {
    add(session: number, { requestId, messageId, parts }: AcceptedRequest): void {
      add.run(session, session, toText(requestId), orNull(messageId, toText), parts);
      dropOldest.run(session, session, MAX_REQUESTS);
    },
    all(session: number): AcceptedRequest[] {
      return all.all(session).map(requestOf);
    },
  };
}
