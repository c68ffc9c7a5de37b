import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as vitest from 'vitest';
import { afterAll, expect, test } from 'vitest';
import { type Store, StoreError } from '../../src/server/index.ts';
import { storeContract } from '../../src/testing/index.ts';
import {
  answerEvent,
  auditLines,
  callOf,
  keyOf,
  messageOf,
  textEvent,
} from '../../src/testing/store/setup.ts';

type Open = (file: string, now?: () => number) => Promise<Store>;

/** The store of the page, as a reader who follows it has it. */
const root = fileURLToPath(new URL('../..', import.meta.url));
mkdirSync(join(root, '.cache'), { recursive: true });
const folder = mkdtempSync(join(root, '.cache', 'write-a-store-'));
const page = readFileSync(join(root, 'docs/write-a-store.md'), 'utf8');
const [, sample = ''] = /^```ts\n\/\/ file: journal-store\.ts\n(.*?)^```$/ms.exec(page) ?? [];
writeFileSync(join(folder, 'journal-store.ts'), sample);
const { openJournalStore } = (await import(/* @vite-ignore */ join(folder, 'journal-store.ts'))) as {
  openJournalStore: Open;
};
afterAll(() => rmSync(folder, { recursive: true }));

let journals = 0;
const nextJournal = () => join(folder, `journal-${++journals}`);

storeContract(vitest, 'journal of docs/write-a-store.md', (now) => openJournalStore(nextJournal(), now));

test('the journal of docs/write-a-store.md gives back what was written, and passes over half a line', async () => {
  const file = nextJournal();
  const key = keyOf('s1');
  const store = await openJournalStore(file, () => 1_000);
  await store.createSession(key, { mood: 'calm', old: 1 });
  await store.issueCalls(key, [callOf('c1'), callOf('c2')]);
  await store.appendEvent(key, answerEvent('e1', ['c1'], { old: undefined, 'user:lang': 'en' }));
  await store.putMessage(key, messageOf('m1', 'hi'));
  await store.putFile(key, 'f1', { mediaType: 'image/png', bytes: new Uint8Array([1, 2]) });
  await expect(store.createSession(key, {})).rejects.toThrow(StoreError);
  const before = await contentOf(store, key);
  await store.close();
  writeFileSync(file, `${readFileSync(file, 'utf8')}half a li`);
  const again = await openJournalStore(file, () => 9_000);
  expect(await contentOf(again, key)).toEqual(before);
  await again.appendEvent(key, textEvent('e2', 'more'));
  await again.close();
  const third = await openJournalStore(file);
  const session = await third.loadSession(key);
  expect([session?.updatedAt, session?.events.length]).toEqual([9_000, 2]);
  await third.close();
});

async function contentOf(store: Store, key: ReturnType<typeof keyOf>): Promise<unknown[]> {
  return [
    await store.loadSession(key),
    await store.loadMessages(key),
    await store.openCalls(key),
    await auditLines(store, key),
    await store.loadFile(key, 'f1'),
  ];
}
