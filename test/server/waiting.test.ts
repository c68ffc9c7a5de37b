import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Message } from '../../src/protocol/index.ts';
import { createMemoryStore, type Store } from '../../src/server/index.ts';
import { auditLines } from '../../src/testing/store/setup.ts';
import { fourTools } from '../support/demo-tools.ts';
import { type Harness, harness, say } from '../support/harness.ts';
import { decision, live } from '../support/live.ts';
import { call, type ScriptedTurn, text } from '../support/scripted-model.ts';

const key = { app: 'duologue', user: 'live_user', id: 'chat-1' };
const QUERY = '?session=chat-1';
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** A store that outlives its servers. A server that has lost a session writes nothing more of it: for the next one it is dead. */
function shared(): Store {
  return Object.assign(createMemoryStore(), { close: async () => undefined });
}

/** A model that never answers. */
const silent: ScriptedTurn = async function* () {
  await new Promise(() => undefined);
};

const heard = ({ model }: Harness) =>
  model.requests.map(({ contents }) =>
    contents
      .at(-1)
      ?.parts?.map((part) => part.text ?? 'file')
      .join(' '),
  );
const storedIn = async (store: Store) =>
  (await store.loadMessages(key)).map(({ role, parts }: Message) => [
    role,
    parts.map((part) => ('text' in part ? part.text : part.type)).join(' '),
  ]);
const waitingIn = async (store: Store) => (await store.waitingMessages(key)).map(({ message }) => message.id);

describe('messages that wait', () => {
  it('[R7e] [B16b] outlive their server, with their files, and are answered in order when the person is back', async () => {
    const store = shared();
    const first = await live([silent], [], { store });
    const socket = await first.connect(QUERY);
    socket.say('count');
    socket.say('one');
    const file = { type: 'file', mediaType: 'image/png', url: `data:image/png;base64,${PNG}` };
    socket.send('message', {
      messages: [{ id: 'seen', role: 'user', parts: [{ type: 'text', text: 'look' }, file] }],
    });
    await expect.poll(() => waitingIn(store)).toEqual(['user-one', 'seen']);

    const options = { store, newId: randomUUID };
    const second = await live([[text('One.')], [text('Nice.')]], [], options);
    // No client is connected yet.
    await second.get('/sessions/chat-1');
    expect(second.model.requests).toEqual([]);
    const again = await second.connect(QUERY);
    await again.until((all) => all.filter((one) => one.kind === 'done').length === 2);
    expect(heard(second)).toEqual(['one', 'look file']);
    expect((await storedIn(store)).slice(-4)).toEqual([
      ['user', 'one'],
      ['assistant', 'One.'],
      ['user', 'look file'],
      ['assistant', 'Nice.'],
    ]);
    expect(await waitingIn(store)).toEqual([]);
    // They are over: the next server does not begin them again.
    const third = await live([[text('Hello.')]], [], options);
    const last = await third.connect(QUERY);
    last.say('hi');
    await last.done();
    expect(heard(third)).toEqual(['hi']);
  });

  it('[R7e] [B24] [B26e] a message that was accepted and that nothing was said to yet is answered after the restart, beside an open card', async () => {
    const store = shared();
    const { payment } = fourTools();
    const pay = call('process_payment', { amount: 50, recipient: 'Hanako' }, 'pay-1');
    const options = { store, approvalTimeoutMs: null, newId: randomUUID };
    const first = await live([[pay], silent], [payment], options);
    const socket = await first.connect(QUERY);
    socket.say('pay');
    const card = await socket.chunk('tool-approval-request');
    socket.send('message', {
      requestId: 'r1',
      messages: [{ id: 'meanwhile', role: 'user', parts: [{ type: 'text', text: 'how are you?' }] }],
    });
    const { data: accepted } = await socket.chunk('data-accepted');
    await expect.poll(() => first.model.requests.length).toBe(2);

    const second = await live([[text('Fine.')], [text('Paid.')]], [payment], options);
    const again = await second.connect(QUERY);
    expect(await again.chunk('data-session')).toMatchObject({
      data: { received: [{ requestId: 'r1', messageId: accepted.messageId }] },
    });
    await again.done();
    expect((await store.loadMessages(key)).at(-1)).toMatchObject({
      id: accepted.messageId,
      parts: [{ type: 'text', text: 'Fine.' }],
    });
    again.send('message', decision(card));
    await again.chunk('tool-output-available');
    expect((await auditLines(store, key)).map(({ kind }) => kind)).toEqual([
      'issued',
      'approved',
      'consumed',
    ]);
  });

  it('[S11] [R7] one that is posted again over SSE is not answered twice', async () => {
    const store = shared();
    const first = await live([silent], [], { store });
    const socket = await first.connect(QUERY);
    socket.say('count');
    socket.say('one');
    await expect.poll(() => waitingIn(store)).toEqual(['user-one']);
    const second = harness([[text('One.')]], [], { store, newId: randomUUID });
    expect((await second.post(say('one'))).dones).toBe(1);
    expect(heard(second)).toEqual(['one']);
    expect(await waitingIn(store)).toEqual([]);
    await second.duologue.close();
  });

  it('[E4] [B24] one that cannot be stored is refused, and may be said again', async () => {
    const store = shared();
    const { addWaiting } = store;
    const first = await live([silent], [], { store });
    const socket = await first.connect(QUERY);
    socket.say('count');
    store.addWaiting = () => Promise.reject(new Error('The disk is full.'));
    const request = (requestId: string) => ({
      requestId,
      messages: [{ id: 'next', role: 'user', parts: [{ type: 'text', text: 'next' }] }],
    });
    socket.send('message', request('r1'));
    expect(await socket.chunk('data-error')).toMatchObject({ data: { code: 'internal', requestId: 'r1' } });
    store.addWaiting = addWaiting;
    socket.send('message', request('r2'));
    expect(await socket.chunk('data-accepted')).toMatchObject({ data: { requestId: 'r2' } });
    expect(await waitingIn(store)).toEqual(['next']);
  });
});
