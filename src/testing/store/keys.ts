import { callOf, casesWith, keyOf, messageOf, type Opened, type TestRunner, textEvent } from './setup.ts';

const key = keyOf('s1');

/** The tests of ids and names with unusual characters: of sessions, calls and state keys. */
export function keysSuite({ test, expect }: TestRunner, { store }: Opened): void {
  const each = casesWith(test);

  test('parts of a key never run together', async () => {
    const keys = [
      keyOf('c', 'b', 'a'),
      keyOf('b:c', '', 'a'),
      keyOf('c', 'a:b', ''),
      keyOf('', 'b:c', 'a'),
      keyOf('c","d', 'b', 'a'),
      keyOf('d', 'b","c', 'a'),
      keyOf('c\0d', 'b', 'a'),
      keyOf('c\0', 'b', 'a'),
      keyOf('d', 'b\0c', 'a'),
      keyOf('\ud800', 'b', 'a'),
      keyOf('\ud801', 'b', 'a'),
      keyOf('\ufffd', 'b', 'a'),
      keyOf('\u001b"\\ud800"', 'b', 'a'),
      keyOf('é', 'b', 'a'),
      keyOf('e\u0301', 'b', 'a'),
      keyOf('C', 'b', 'a'),
      keyOf('%', 'b', 'a'),
      keyOf("'; drop table sessions; --", 'b', 'a'),
      keyOf('x'.repeat(256), 'x'.repeat(256), 'x'.repeat(256)),
      keyOf('1', 'b', 'a'),
      keyOf('1.0', 'b', 'a'),
    ];
    for (const [index, each] of keys.entries()) await store().createSession(each, { index });
    for (const [index, each] of keys.entries()) {
      expect(await store().loadSession(each)).toMatchObject({ id: each.id, state: { index } });
    }
    const listed = await store().listSessions('a', 'b');
    expect(listed.map((summary) => summary.id).sort()).toEqual(
      keys
        .filter((each) => each.app === 'a' && each.user === 'b')
        .map((each) => each.id)
        .sort(),
    );
  });

  each<[]>([['__proto__'], ['constructor'], ['toString'], ['hasOwnProperty'], ['']])(
    '"%s" is a key like any other',
    async (odd) => {
      const strange = keyOf(odd, odd, odd);
      expect(await store().loadSession(strange)).toBeNull();
      expect(await store().findCall(strange, { id: odd })).toBeNull();
      const delta = Object.fromEntries([
        [odd, { polluted: 1 }],
        [`app:${odd}`, { polluted: 2 }],
        [`user:${odd}`, { polluted: 3 }],
      ]);
      await store().createSession(strange, delta);
      const event = textEvent(odd, 'hi', delta);
      await store().appendEvent(strange, event);
      await store().putMessage(strange, messageOf(odd, 'hi'));
      await store().issueCalls(strange, [
        callOf(odd, { approvalId: odd, toolName: odd, args: Object.fromEntries([[odd, 1]]) }),
      ]);
      await store().putFile(strange, odd, { mediaType: 'image/png', bytes: new Uint8Array([1]) });

      const session = await store().loadSession(strange);
      expect(Object.entries(session?.state ?? {}).sort()).toEqual(Object.entries(delta).sort());
      expect(session?.events.map((each) => each.id)).toEqual([odd]);
      expect(Object.entries(session?.events[0]?.actions.stateDelta ?? {})).toEqual(Object.entries(delta));
      expect((await store().loadMessages(strange)).map((message) => message.id)).toEqual([odd]);
      const call = await store().findCall(strange, { approvalId: odd });
      expect(Object.entries(call?.args ?? {})).toEqual([[odd, 1]]);
      expect(await store().loadFile(strange, odd)).toMatchObject({ mediaType: 'image/png' });
      expect(
        await store().moveCall(strange, { id: odd, from: 'requested', to: 'denied' }, null),
      ).toMatchObject({
        status: 'denied',
      });
      expect('polluted' in {}).toBe(false);
      expect(await store().deleteSession(strange)).toBe(true);
      expect(await store().loadSession(strange)).toBeNull();
    },
  );

  test('the state has no inherited keys', async () => {
    await store().createSession(key, {});
    const session = await store().loadSession(key);
    expect('constructor' in (session?.state ?? {})).toBe(false);
  });
}
