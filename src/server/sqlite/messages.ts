import type { Message } from '../../protocol/index.ts';
import type { Page, PageRequest } from '../store/store.ts';
import { toText } from '../store/text.ts';
import type { Database } from './database.ts';
import { documentTable } from './documents.ts';

/** The table of the messages as the browser shows them. */
export function messageTable(db: Database) {
  const documents = documentTable<Message>(db, 'messages');
  const truncate = db.prepare(
    `delete from messages where session = ?
     and seq >= (select seq from messages where session = ? and id = ?)`,
  );

  return {
    ...documents,
    /** The last messages, or the last before one that is named; null when that is not there. */
    page(session: number, request: PageRequest): Page | null {
      const found = documents.last(session, request);
      return found && { messages: found.documents, hasOlder: found.hasOlder };
    },
    /** Removes a message and all after it; false when it is not there. */
    truncate(session: number, id: string): boolean {
      return truncate.run(session, session, toText(id)) > 0;
    },
  };
}
