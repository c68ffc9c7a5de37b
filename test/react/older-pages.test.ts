// @vitest-environment jsdom
import { describe, expect, test } from 'vitest';
import type { Message } from '../../src/protocol/index.ts';
import { createMemoryStore } from '../../src/server/index.ts';
import { fourTools } from '../support/demo-tools.ts';
import { live } from '../support/live.ts';
import { calls, text } from '../support/scripted-model.ts';
import { mount } from './support/page.tsx';

const key = { app: 'duologue', user: 'live_user', id: 'long', fence: 0 };
const idOf = (n: number) => `m${n}`;

/** A server with a conversation of 250 messages, and what was asked of it over HTTP. */
async function served() {
  const store = createMemoryStore();
  await store.createSession(key, {});
  const messages = Array.from(
    { length: 250 },
    (_, n): Message => ({
      id: idOf(n),
      role: n % 2 === 0 ? 'user' : 'assistant',
      parts: [{ type: 'text', text: `message ${n}` }],
    }),
  );
  for (const message of messages) await store.putMessage(key, message);
  const pay = { name: 'process_payment', id: 'pay', args: { amount: 30, recipient: 'Alice' } };
  const { payment } = fourTools([]);
  const turns = [
    [text('Hello.')],
    [calls(pay)],
    ...Array.from({ length: 55 }, (_, n) => [text(`Answer ${n}.`)]),
  ];
  const made = await live(turns, [payment], { store });
  const asked: string[] = [];
  const open = (mode: 'sse' | 'bidi') =>
    mount({
      url: made.served.url,
      mode,
      sessionId: 'long',
      fetch: (input, init) => {
        const { pathname, search } = new URL(String(input));
        if (init?.method === undefined && pathname === '/sessions/long') asked.push(search);
        return fetch(input, init);
      },
    });
  return { open, asked, ids: messages.map(({ id }) => id) };
}

const idsOf = ({ messages }: { messages: Message[] }) => messages.map(({ id }) => id);
const modes = ['sse', 'bidi'] as const;

describe.each(modes)('[S18] a long conversation over %s', (mode) => {
  test('is opened with its newest page, and shows the pages before it when they are asked for', async () => {
    const { open, asked, ids } = await served();
    const page = open(mode);
    const first = await page.until(({ session }) => session.status === 'ready');
    expect(idsOf(first)).toEqual(ids.slice(150));
    expect([first.session.hasOlder, asked]).toEqual([true, ['']]);
    // Two requests at once read one page.
    await Promise.all([first.session.loadOlder(), first.session.loadOlder()]);
    const second = await page.until(({ messages }) => messages.length === 200);
    expect(idsOf(second)).toEqual(ids.slice(50));
    await second.session.loadOlder();
    const third = await page.until(({ session }) => !session.hasOlder);
    expect(idsOf(third)).toEqual(ids);
    await third.session.loadOlder();
    expect(asked).toEqual(['', '?before=m150', '?before=m50']);
  });

  test('keeps the older messages that are shown when it is read again, and when an answer follows', async () => {
    const { open, ids } = await served();
    const page = open(mode);
    await page.until(({ session }) => session.status === 'ready');
    await page.now.session.loadOlder();
    await page.until(({ messages }) => messages.length === 200);
    await page.now.session.reload();
    const read = await page.until(({ session }) => session.status === 'ready');
    expect([idsOf(read), read.session.hasOlder]).toEqual([ids.slice(50), true]);
    void page.now.sendMessage({ text: 'hi' });
    const answered = await page.texts('Hello.');
    expect(idsOf(answered).slice(0, 200)).toEqual(ids.slice(50));
    await answered.session.loadOlder();
    const whole = await page.until(({ session }) => !session.hasOlder);
    expect(idsOf(whole).slice(0, 250)).toEqual(ids);
    expect(whole.messages).toHaveLength(252);
  });

  test('shows an older page while an answer is being read', async () => {
    const { open, ids } = await served();
    const page = open(mode);
    await page.until(({ session }) => session.status === 'ready');
    void page.now.sendMessage({ text: 'hi' });
    await page.now.session.loadOlder();
    const answered = await page.texts('Hello.');
    expect(idsOf(answered).slice(0, 200)).toEqual(ids.slice(50));
    expect(answered.messages).toHaveLength(202);
  });

  test('is read again when another page took it back to before everything that is shown', async () => {
    const { open, ids } = await served();
    const [here, elsewhere] = [open(mode), open(mode)];
    await here.until(({ session, connection }) => session.status === 'ready' && connection.status === 'live');
    await elsewhere.until(({ session }) => session.status === 'ready');
    await elsewhere.now.session.loadOlder();
    await elsewhere.until(({ messages }) => messages.length === 200);
    void elsewhere.now.sendMessage({ text: 'another question', messageId: 'm100' });
    await elsewhere.texts('Hello.');
    const now = await here.until(
      ({ messages, session }) => session.status === 'ready' && messages.at(-2)?.id === 'm100',
    );
    const shown = idsOf(now);
    expect(shown.slice(0, shown.indexOf('m100'))).toEqual(ids.slice(ids.indexOf(shown[0] ?? ''), 100));
    expect(shown.indexOf('m100')).toBe(shown.length - 2);
  });
});

test('[S18] an open card that stands before the newest page is loaded with it', async () => {
  const { open, ids } = await served();
  const first = open('bidi');
  await first.until(({ session }) => session.status === 'ready');
  void first.now.sendMessage({ text: 'hi' });
  await first.texts('Hello.');
  void first.now.sendMessage({ text: 'pay' });
  const [approval] = (await first.asked()).approvals;
  for (let n = 0; n < 55; n++) {
    void first.now.sendMessage({ text: `and ${n}` });
    await first.texts(`Answer ${n}.`);
  }
  first.unmount();
  const second = open('bidi');
  const now = await second.until(({ session }) => session.status === 'ready');
  expect(idsOf(now)).toContain(approval?.messageId);
  expect(now.approvals.map(({ toolCallId }) => toolCallId)).toEqual(['pay']);
  const shown = [...idsOf(now)];
  while (second.now.session.hasOlder) {
    const count = second.now.messages.length;
    await second.now.session.loadOlder();
    await second.until(({ messages }) => messages.length !== count);
  }
  expect(shown.length).toBeLessThan(110);
  expect(idsOf(second.now)).toEqual(idsOf(first.now).toSpliced(0, 0, ...ids.slice(0, 150)));
});
