import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';
import { seed, useLongSessions } from './support/long-session.ts';

it('[S25] every route works on sessions of 300 MB with a heap of 256 MB, in SQLite', {
  timeout: 180_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'duologue-long-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const store = await openSqliteStore(folder);
  await seed(store);
  await store.close();
  expect.hasAssertions();
  await useLongSessions(folder);
});
