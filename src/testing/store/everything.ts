import type { Store } from '../../server/store/store.ts';
import { auditLines } from './audit-lines.ts';
import { keyOf } from './records.ts';

/** All that a store holds of the session `s1`, and which other sessions its user has: to see that nothing has changed. */
export async function everything(store: Store): Promise<Record<string, unknown>> {
  const key = keyOf('s1');
  return {
    session: await store.loadSession(key),
    messages: await store.loadMessages(key),
    calls: await store.openCalls(key),
    log: await auditLines(store, key),
    file: await store.loadFile(key, 'f1'),
    summaries: await store.listSessions('shop', 'ann').then((all) => all.filter(({ id }) => id !== 's1')),
  };
}
