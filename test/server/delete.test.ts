import { describe, expect, it } from 'vitest';
import { createMemoryStore } from '../../src/server/index.ts';
import { fourTools } from '../support/demo-tools.ts';
import { decision, live } from '../support/live.ts';
import { call, text } from '../support/scripted-model.ts';

const says = (id: string, words: string) => ({
  id,
  messages: [{ role: 'user', parts: [{ type: 'text', text: words }] }],
});

async function deletion(duologue: { fetch(request: Request): Promise<Response> }, id: string) {
  const { status } = await duologue.fetch(
    new Request(`http://localhost/sessions/${id}`, { method: 'DELETE' }),
  );
  return status;
}

/** A store that is slow to delete. */
function slowStore() {
  const store = createMemoryStore();
  let letGo = () => {};
  const isLetGo = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let begin = () => {};
  const isDeleting = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const { deleteSession } = store;
  store.deleteSession = async (key) => {
    begin();
    await isLetGo;
    return deleteSession.call(store, key);
  };
  return { store, isDeleting, letGo: () => letGo() };
}

describe('a conversation that is being deleted', () => {
  it('[S14] a post that comes meanwhile begins a new one', async () => {
    const { store, isDeleting, letGo } = slowStore();
    const { duologue, post } = await live([[text('one')], [text('two')]], [], { store });
    await post(says('talk', 'hello'));
    const deleted = deletion(duologue, 'talk');
    await isDeleting;
    const posted = post(says('talk', 'anew'));
    await new Promise((resolve) => setImmediate(resolve));
    letGo();
    expect(await deleted).toBe(204);
    const { chunks } = await posted;
    expect(chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? chunk.delta : []))).toEqual(['two']);
  });

  it('[S14] an answer that comes meanwhile answers nothing', async () => {
    const { store, isDeleting, letGo } = slowStore();
    const { duologue, post } = await live([[text('one')]], [], { store });
    await post(says('talk', 'hello'));
    const deleted = deletion(duologue, 'talk');
    await isDeleting;
    const card = { approvalId: 'approval', toolCallId: 'call' };
    const posted = post({ id: 'talk', ...decision(card) });
    await new Promise((resolve) => setImmediate(resolve));
    letGo();
    expect(await deleted).toBe(204);
    expect((await posted).json).toMatchObject({ error: { code: 'nothing_to_answer' } });
  });

  it('[S14] a connection that comes meanwhile is one to a new conversation', async () => {
    const { store, isDeleting, letGo } = slowStore();
    const { duologue, post, connect, served } = await live([[text('one')], [text('two')]], [], { store });
    await post(says('talk', 'hello'));
    const deleted = deletion(duologue, 'talk');
    await isDeleting;
    const connecting = connect('?session=talk');
    // The handshake has come by then.
    for (let i = 0; i < 5; i++) await fetch(`${served.url}/health`);
    letGo();
    expect(await deleted).toBe(204);
    const socket = await connecting;
    socket.say('anew');
    await socket.done();
    expect(socket.chunks.some((chunk) => chunk.type === 'text-delta' && chunk.delta === 'two')).toBe(true);
  });

  it('[S14] what was asked of it and not begun is refused', async () => {
    let asked = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    let answer: (isSignedIn: boolean) => void = () => {};
    const { payment } = fourTools([]);
    const { duologue, post } = await live(
      [[call('process_payment', { amount: 30, recipient: 'Alice' })]],
      [payment],
      {
        authenticate: () => ({ user: 'ada' }),
        stillSignedIn: () => {
          asked();
          return new Promise((resolve) => {
            answer = resolve;
          });
        },
      },
    );
    const { chunks } = await post(says('talk', 'pay'));
    const card = chunks.find((chunk) => chunk.type === 'tool-approval-request');
    if (!card) throw new Error('There is no card.');
    const posted = post({ id: 'talk', ...decision(card) });
    await isAsked;
    expect(await deletion(duologue, 'talk')).toBe(204);
    answer(true);
    expect((await posted).json).toMatchObject({ error: { code: 'not_found' } });
  });
});
