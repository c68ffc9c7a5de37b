import { StoreError } from '../../server/store/store.ts';
import { keyOf, messageOf, type Opened, type TestRunner } from './setup.ts';

const key = keyOf('s1');

/** The tests of stored messages. */
export function messagesSuite({ test, expect, beforeEach }: TestRunner, { store, clock }: Opened): void {
  beforeEach(() => store().createSession(key, {}));

  test('messages keep the order of arrival; a message with a known id replaces the earlier one in its place', async () => {
    for (const id of ['m2', 'm1', 'm3']) await store().putMessage(key, messageOf(id, `first ${id}`));
    await store().putMessage(key, messageOf('m1', 'second m1'));
    expect(await store().loadMessages(key)).toEqual([
      messageOf('m2', 'first m2'),
      messageOf('m1', 'second m1'),
      messageOf('m3', 'first m3'),
    ]);
  });

  test('one message is found by its id', async () => {
    for (const id of ['m1', 'm2']) await store().putMessage(key, messageOf(id, `first ${id}`));
    expect(await store().loadMessage(key, 'm2')).toEqual(messageOf('m2', 'first m2'));
    expect(await store().loadMessage(key, 'm3')).toBeNull();
    expect(await store().loadMessage(keyOf('s2'), 'm1')).toBeNull();
  });

  test('truncating removes a message and all after it, and later ones follow at the end', async () => {
    for (const id of ['m1', 'm2', 'm3']) await store().putMessage(key, messageOf(id, id));
    expect(await store().truncateMessages(key, 'm9')).toBe(false);
    clock.set(5_000);
    expect(await store().truncateMessages(key, 'm2')).toBe(true);
    expect((await store().loadSession(key))?.updatedAt).toBe(5_000);
    await store().putMessage(key, messageOf('m3', 'again'));
    expect(await store().loadMessages(key)).toEqual([messageOf('m1', 'm1'), messageOf('m3', 'again')]);
    expect(await store().truncateMessages(key, 'm1')).toBe(true);
    expect(await store().loadMessages(key)).toEqual([]);
  });

  test('pages are read from the end, limited by number and by size, but with at least one message', async () => {
    const ids = ['m1', 'm2', 'm3', 'm4', 'm5'];
    for (const id of ids) await store().putMessage(key, messageOf(id, 'é'.repeat(100)));
    const size = Buffer.byteLength(JSON.stringify(messageOf('m1', 'é'.repeat(100))));
    const page = async (before: string | undefined, count: number, bytes = 1e6) => {
      const found = await store().loadPage(key, { before, count, bytes });
      return found && [found.messages.map(({ id }) => id), found.hasOlder];
    };
    expect(await page(undefined, 2)).toEqual([['m4', 'm5'], true]);
    expect(await page('m4', 2)).toEqual([['m2', 'm3'], true]);
    expect(await page('m2', 2)).toEqual([['m1'], false]);
    expect(await page('m1', 2)).toEqual([[], false]);
    expect(await page(undefined, 5)).toEqual([ids, false]);
    expect(await page(undefined, 5, size * 3)).toEqual([['m3', 'm4', 'm5'], true]);
    expect(await page(undefined, 5, size * 3 - 1)).toEqual([['m4', 'm5'], true]);
    expect(await page(undefined, 5, 0)).toEqual([['m5'], true]);
    expect(await page('m9', 5)).toBeNull();
    expect((await store().loadPage(key, { count: 1, bytes: 0 }))?.messages).toEqual([
      messageOf('m5', 'é'.repeat(100)),
    ]);
    expect(await store().loadPage(keyOf('s2'), { count: 1, bytes: 0 })).toEqual({
      messages: [],
      hasOlder: false,
    });
    expect(await store().findSession(keyOf('s2'))).toBeNull();
    expect(await store().findSession(key)).toEqual({
      id: 's1',
      title: null,
      createdAt: 1_000,
      updatedAt: 1_000,
    });
  });

  test('a message without JSON is not written', async () => {
    await store().putMessage(key, messageOf('m1', 'hi'));
    const bad = { ...messageOf('m1', 'bye'), metadata: { big: 1n } };
    await expect(store().putMessage(key, bad as unknown as ReturnType<typeof messageOf>)).rejects.toThrow(
      StoreError,
    );
    expect(await store().loadMessages(key)).toEqual([messageOf('m1', 'hi')]);
  });
}

/** The tests of the files of messages. */
export function filesSuite({ test, expect, beforeEach }: TestRunner, { store }: Opened): void {
  beforeEach(() => store().createSession(key, {}));

  test('a file comes back byte for byte, even an empty one, and a file with the same id replaces it', async () => {
    const bytes = Uint8Array.from({ length: 70_000 }, (_, index) => index % 256);
    await store().putFile(key, 'f1', { mediaType: 'image/png', bytes });
    await store().putFile(key, 'f2', { mediaType: 'text/plain', bytes: new Uint8Array() });
    expect(await store().loadFile(key, 'f1')).toEqual({ mediaType: 'image/png', bytes });
    expect(await store().loadFile(key, 'f2')).toEqual({ mediaType: 'text/plain', bytes: new Uint8Array() });
    await store().putFile(key, 'f1', { mediaType: 'image/webp', bytes: bytes.subarray(10, 12) });
    expect(await store().loadFile(key, 'f1')).toEqual({
      mediaType: 'image/webp',
      bytes: new Uint8Array([10, 11]),
    });
    expect(await store().loadFile(key, 'f3')).toBeNull();
  });
}
