import { join } from 'node:path';
import { openDatabase } from '../../../src/server/sqlite/database.ts';
import { openSqliteStore } from '../../../src/server/sqlite/index.ts';
import { messageOf, textEvent } from '../../../src/testing/store/setup.ts';

const SESSIONS = 50_000;
const LINES = 500_000;
/** Messages and events of 100 kB each in the session `long`: 150 MB and 150 MB. */
const MESSAGES = 1500;

/** Fills a data folder for one user: 50,000 sessions, one of them (`long`) with 300 MB of history and 500,000 audit lines, one `small`. */
export async function fillLargeStore(folder: string, user: string): Promise<undefined> {
  const store = await openSqliteStore(folder);
  const words = 'word '.repeat(20_000);
  for (const id of ['long', 'small']) {
    const key = { app: 'duologue', user, id, fence: 0 };
    await store.createSession(key, {});
    await store.appendEvent(key, textEvent('event-0', id === 'long' ? words : 'word'));
    await store.putMessage(key, messageOf('message-0', id === 'long' ? words : 'word'));
  }
  await store.close();
  const db = await openDatabase(join(folder, 'duologue.db'));
  const columns = (table: string, but: string[]) =>
    db
      .prepare<{ name: string }>(`select name from pragma_table_info('${table}')`)
      .all()
      .map(({ name }) => name)
      .filter((name) => !but.includes(name));
  const counted = (count: number) =>
    `with recursive counted (i) as (select 1 union all select i + 1 from counted where i < ${count})`;
  const long = `(select n from sessions where id = 'long')`;
  const others = columns('sessions', ['n', 'id']).join(', ');
  db.exec(`insert into sessions (id, ${others}) ${counted(SESSIONS)}
    select 'other-' || i, ${others} from sessions, counted where id = 'small'`);
  // The server does not list a session without messages.
  const texts = columns('messages', ['session']).map((name) => `messages.${name}`);
  db.exec(`insert into messages (session, ${columns('messages', ['session']).join(', ')})
    select sessions.n, ${texts.join(', ')} from sessions, messages
    where sessions.id like 'other-%' and messages.session = (select n from sessions where id = 'small')`);
  for (const [table, name] of [
    ['events', 'event'],
    ['messages', 'message'],
  ]) {
    const rest = columns(table ?? '', ['seq', 'id', 'data']).join(', ');
    db.exec(`insert into ${table} (seq, id, data, ${rest}) ${counted(MESSAGES)}
      select seq + i, '${name}-' || i, replace(data, '${name}-0', '${name}-' || i), ${rest}
      from ${table}, counted where session = ${long}`);
  }
  db.exec(`insert into audit_lines (app, user, session_id, at, kind, approval_id, tool_call_id, reason) ${counted(LINES)}
    select 'duologue', '${user}', 'long', 1000, 'refused', 'approval_' || i, 'call_' || i, 'no such approval' from counted`);
  db.close();
}
