import type { AuditLine, SessionKey, Store } from '../../server/store/store.ts';

/** All audit lines of a session, oldest first, read page by page. */
export async function auditLines(store: Store, key: SessionKey, count = 1000): Promise<AuditLine[]> {
  const all: AuditLine[] = [];
  let before: number | undefined;
  do {
    const page = await store.loadAuditPage(key, { before, count, bytes: 256 * 1024 });
    all.unshift(...page.lines);
    before = page.older ?? undefined;
  } while (before !== undefined);
  return all;
}
