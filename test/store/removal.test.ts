import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/server/sqlite/database.ts';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';
import type { Store } from '../../src/server/store/store.ts';
import { auditLines, keyOf, lineOf, messageOf, textEvent } from '../../src/testing/store/setup.ts';
import { createFolder } from './support/stores.ts';

const key = keyOf('large');
const other = keyOf('other');

/** A folder with a session of 100 messages, 100 events, 6 files and 5,000 audit lines, and another one. */
async function filled(): Promise<{ folder: string; store: Store }> {
  const folder = createFolder();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const store = await openSqliteStore(folder);
  for (const one of [key, other]) await store.createSession(one, {});
  for (let n = 0; n < 100; n++) {
    await store.appendEvent(key, textEvent(`e${n}`, 'hi'));
    await store.putMessage(key, messageOf(`m${n}`, 'hi'));
  }
  for (let n = 0; n < 6; n++)
    await store.putFile(key, `f${n}`, { mediaType: 'image/png', bytes: new Uint8Array([n]) });
  for (let n = 0; n < 5000; n++) await store.audit(key, lineOf('approved', `c${n}`));
  await store.putMessage(other, messageOf('m', 'still here'));
  return { folder, store };
}

/** How many rows each table has. */
async function rows(folder: string): Promise<Record<string, number>> {
  const db = await openDatabase(join(folder, 'duologue.db'));
  const count = (table: string) => db.prepare<{ n: number }>(`select count(*) as n from ${table}`).first()?.n;
  const counts = ['sessions', 'events', 'messages', 'files'].map((table) => [table, count(table)]);
  db.close();
  return Object.fromEntries(counts);
}

test('a large session is gone at once, and removed piece by piece while others are served', async () => {
  const { folder, store } = await filled();
  let isRemoved = false;
  const removing = store.deleteSession(key).then((was) => {
    isRemoved = true;
    return was;
  });
  let served = 0;
  while (!isRemoved) {
    expect(await store.findSession(key)).toBeNull();
    expect(await store.loadMessages(other)).toHaveLength(1);
    served++;
    await setImmediate();
  }
  expect(await removing).toBe(true);
  expect(served).toBeGreaterThan(5);
  expect(await store.deleteSession(key)).toBe(false);
  expect((await auditLines(store, key)).every(({ reason, args }) => reason === null && args === null)).toBe(
    true,
  );
  await store.close();
  expect(await rows(folder)).toEqual({ sessions: 1, events: 0, messages: 1, files: 0 });
});

test('a session that is made anew under the id of one that is being removed keeps what is its own', async () => {
  const { store } = await filled();
  const removing = store.deleteSession(key);
  await store.createSession(key, {});
  await store.putMessage(key, messageOf('new', 'again'));
  await store.audit(key, { ...lineOf('approved', 'new'), reason: 'mine' });
  await removing;
  expect(await store.loadMessages(key)).toEqual([messageOf('new', 'again')]);
  expect((await auditLines(store, key)).at(-1)?.reason).toBe('mine');
  await store.close();
});

test('a removal that a process did not finish is finished when the store is opened again', async () => {
  const { folder, store } = await filled();
  const removing = store.deleteSession(key);
  await store.close();
  await expect(removing).rejects.toThrow('closed');
  expect((await rows(folder)).events).toBeGreaterThan(0);
  const again = await openSqliteStore(folder);
  expect(await again.listSessions(key.app, key.user)).toHaveLength(1);
  await again.close();
  expect(await rows(folder)).toEqual({ sessions: 1, events: 0, messages: 1, files: 0 });
});
