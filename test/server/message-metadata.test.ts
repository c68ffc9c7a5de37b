import { describe, expect, it } from 'vitest';
import type { Message } from '../../src/protocol/index.ts';
import { harness } from '../support/harness.ts';
import { live } from '../support/live.ts';
import { text } from '../support/scripted-model.ts';

const texts = (metadata: unknown) => ({
  id: 's1',
  messages: [{ id: 'm1', role: 'user', metadata, parts: [{ type: 'text', text: 'hi' }] }],
});

async function stored(get: (path: string) => Promise<Response>, id = 's1'): Promise<Message | undefined> {
  const { messages } = (await (await get(`/sessions/${id}`)).json()) as { messages: Message[] };
  return messages[0];
}

describe('[C18] the metadata of a message of the person', () => {
  it('is stored over SSE and comes back, without the keys of the server', async () => {
    const { post, get } = harness([[text('Hello.')]]);
    const { status } = await post(
      texts({ source: 'form', tags: ['a', { b: null }], createdAt: 1, failed: true, usage: {} }),
    );
    expect(status).toBe(200);
    const message = await stored(get);
    expect(message?.metadata).toEqual({
      source: 'form',
      tags: ['a', { b: null }],
      createdAt: expect.any(Number),
    });
    expect(message?.metadata?.createdAt).toBeGreaterThan(1);
  });

  it('is stored over BIDI, of a message that waits too', async () => {
    const { connect, get } = await live([[text('One.')], [text('Two.')]]);
    const socket = await connect('?session=s1');
    socket.send('message', texts({ n: 1 }));
    socket.send('message', {
      messages: [{ id: 'm2', role: 'user', metadata: { n: 2 }, parts: [{ type: 'text', text: 'again' }] }],
    });
    await socket.done(2);
    const { messages } = (await (await get('/sessions/s1')).json()) as { messages: Message[] };
    const own = messages.filter(({ role }) => role === 'user').map(({ metadata }) => metadata);
    expect(own).toMatchObject([{ n: 1 }, { n: 2 }]);
  });

  it.each([
    ['a text', 'x', 400],
    ['a list', [1], 400],
    ['more than 16 kB', { x: 'é'.repeat(8_200) }, 413],
    ['too deep', JSON.parse(`${'{"a":'.repeat(200)}1${'}'.repeat(200)}`), 413],
    ['null', null, 200],
  ])('[C18a] %s', async (_what, metadata, status) => {
    const { post } = harness([[text('Hello.')]]);
    expect((await post(texts(metadata))).status).toBe(status);
  });
});
