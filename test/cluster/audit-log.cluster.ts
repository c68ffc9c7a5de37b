import { it } from 'vitest';
import { LINES, readWholeLog } from '../attacks/support/audit-log.ts';
import { startSmall } from '../attacks/support/small-heap.ts';
import { testSchema } from './support/schema.ts';

const schema = testSchema();

it('[S22] 500,000 audit lines in PostgreSQL are read page by page with a heap of 512 MB', {
  timeout: 300_000,
}, async () => {
  const store = await schema.open();
  await store.createSession({ app: 'duologue', user: 'live_user', id: 'long' }, {});
  await store.close();
  await schema.sql(`
    insert into ${schema.name}.audit_lines (name, session_id, user_id, at, kind, approval_id, tool_call_id, reason)
      select name, id, user_id, 1000, 'refused', 'approval_' || i, 'call_' || i, 'line ' || i
      from ${schema.name}.sessions, generate_series(1, ${LINES}) i order by i`);
  const server = await startSmall({
    heapMb: 512,
    prepare: async () => ({ url: schema.url, schema: schema.name }),
  });
  await readWholeLog(server);
});
