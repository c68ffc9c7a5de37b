import {
  answerEvent,
  auditLines,
  callOf,
  casesWith,
  keyOf,
  lineOf,
  messageOf,
  type Opened,
  stored,
  type TestRunner,
  textEvent,
} from './setup.ts';

const key = keyOf('s1');

/** The tests of texts that a database may not store unchanged, such as NUL characters. */
export function textsSuite({ test, expect }: TestRunner, { store }: Opened): void {
  casesWith(test)<[string]>([
    ['a NUL', 'a\0b'],
    ['a lone surrogate', 'a\ud800b'],
    ['quotes, backslashes and braces', `{"a'b\\u0000c`],
    ['an escape', '\u001b"x"'],
    ['the name of a property of objects', '__proto__'],
    ['letters of all kinds', 'é e\u0301 こんにちは 👋 \u202e'],
  ])('%s comes back unchanged from every place where it is written', async (_what, text) => {
    const call = callOf(text, { reason: text, toolName: text, branch: text, args: { [`k${text}`]: text } });
    const message = messageOf(text, text);
    const accepted = { requestId: text, messageId: text, parts: 1 };
    const state = { [`k${text}`]: text, [`user:${text}`]: { [`k${text}`]: [text] }, [`app:${text}`]: text };
    await store().createSession(key, state);
    expect((await store().loadSession(key))?.state).toEqual(state);
    await store().appendEvent(key, textEvent(text, text, { [`k${text}`]: `${text}!` }), state, accepted);
    await store().putMessage(key, message);
    await store().addWaiting(key, { message, answerId: text });
    await store().issueCalls(key, [call]);
    await store().renameSession(key, text);
    await store().putFile(key, text, { mediaType: 'image/png', bytes: new Uint8Array([0, 1]) });

    expect(await store().loadSession(key)).toMatchObject({
      title: text,
      state: { ...state, [`k${text}`]: `${text}!` },
      events: stored([textEvent(text, text, { [`k${text}`]: `${text}!` })]),
    });
    expect(await store().loadMessages(key)).toEqual([message]);
    expect(await store().loadPage(key, { count: 1, bytes: 1e6 })).toEqual({
      messages: [message],
      hasOlder: false,
    });
    expect(await store().loadPage(key, { before: text, count: 1, bytes: 1e6 })).toEqual({
      messages: [],
      hasOlder: false,
    });
    expect(await store().waitingMessages(key)).toEqual([{ message, answerId: text }]);
    expect(await store().acceptedRequests(key)).toEqual([accepted]);
    expect(await store().findCall(key, { id: text })).toEqual(call);
    expect(await store().findCall(key, { approvalId: `approval_${text}` })).toEqual(call);
    const line = lineOf('denied', text, { reason: text, args: call.args });
    const denied = await store().decideCall(key, { id: text, to: 'denied', reason: text }, line);
    expect(denied).toEqual({ ...call, status: 'denied' });
    expect((await auditLines(store(), key)).at(-1)).toMatchObject(line);
    await store().appendEvent(key, answerEvent('e2', [text]));
    expect(await store().openCalls(key)).toEqual([]);
    expect(await store().loadFile(key, text)).toMatchObject({ mediaType: 'image/png' });
    expect(await store().truncateMessages(key, text)).toBe(true);
  });
}
