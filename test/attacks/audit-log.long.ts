import { join } from 'node:path';
import { it } from 'vitest';
import { openDatabase } from '../../src/server/sqlite/database.ts';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';
import { LINES, readWholeLog } from './support/audit-log.ts';
import { startSmall } from './support/small-heap.ts';

/** A data folder with one session that has very many audit lines. */
async function fill(folder: string): Promise<undefined> {
  const store = await openSqliteStore(folder);
  await store.createSession({ app: 'duologue', user: 'live_user', id: 'long' }, {});
  await store.close();
  const db = await openDatabase(join(folder, 'duologue.db'));
  db.exec(`
    insert into audit_lines (app, user, session_id, at, kind, approval_id, tool_call_id, tool_name, args_hash, args, reason)
      with recursive counted (i) as (select 1 union all select i + 1 from counted where i < ${LINES})
      select app, user, id, 1000, 'refused', 'approval_' || i, 'call_' || i, null, null, null, 'line ' || i
      from sessions, counted
  `);
  db.close();
}

it('[S22] 500,000 audit lines are read page by page with a heap of 512 MB', {
  timeout: 300_000,
}, async () => {
  const server = await startSmall({ heapMb: 512, prepare: fill });
  await readWholeLog(server);
});
