import type { WaitingMessage } from '../store/store.ts';
import { toText } from '../store/text.ts';
import type { Database } from './database.ts';
import { documentTable } from './documents.ts';

/** The table of the messages that wait for the agent. */
export function waitingTable(db: Database) {
  const answer = db.prepare(
    // By what waits, which is little, and not by the messages, which are many.
    `delete from waiting where session = ? and exists (
       select 1 from messages where messages.session = waiting.session and messages.id = waiting.id
       and messages.seq < (select seq from messages where session = ? and id = ?)
     )`,
  );

  const any = db.prepare('select 1 from waiting where session = ? limit 1');
  const sessions = db.prepare<{ session: number }>('select distinct session from waiting');
  const table = documentTable<WaitingMessage>(db, 'waiting');
  // The sessions in which something may wait. Every answer that is stored asks, and there are few.
  const mayWait = new Set(sessions.all().map(({ session }) => session));

  return {
    ...table,
    put(session: number, id: string, data: string): void {
      mayWait.add(session);
      table.put(session, id, data);
    },
    /** The messages before this one of the agent wait no longer. */
    answeredBy(session: number, id: string): void {
      if (!mayWait.has(session)) return;
      if (any.first(session) === undefined) mayWait.delete(session);
      else answer.run(session, session, toText(id));
    },
  };
}
