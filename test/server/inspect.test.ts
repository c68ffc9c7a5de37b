import { describe, expect, it } from 'vitest';
import { readSettings } from '../../demo/server/settings.ts';
import { harness, say } from '../support/harness.ts';
import { text } from '../support/scripted-model.ts';

const users = { authenticate: (request: Request) => request.headers.get('x-user') };
const ann = { 'x-user': 'ann' };

async function talked(inspect: boolean | undefined) {
  const server = harness([[text('Hello.')]], [], {
    ...users,
    ...(inspect === undefined ? {} : { inspect }),
  });
  const signature = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
  const header = [0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52, 0, 0, 0, 1, 0, 0, 0, 1];
  const picture = Buffer.from([...signature, ...header, ...new Array(400).fill(7)]);
  const message = {
    id: 'u1',
    role: 'user',
    parts: [
      { type: 'text', text: 'Hi' },
      { type: 'file', mediaType: 'image/png', url: `data:image/png;base64,${picture.toString('base64')}` },
    ],
  };
  await server.post({ ...say('Hi'), messages: [message] }, ann);
  return server;
}

describe('the events behind a conversation', () => {
  it('[S16] are told to the user of the session, in order, without the bytes of pictures', async () => {
    const server = await talked(true);
    const response = await server.get('/sessions/chat-1/events', ann);
    expect(response.status).toBe(200);
    const body = await response.json();
    expect(body).toMatchObject({ next: 2, count: 2 });
    expect(body.events.map((event: { author: string }) => event.author)).toEqual(['user', 'assistant']);
    expect(body.events[0].content.parts).toMatchObject([
      { text: 'Hi' },
      { fileData: { mimeType: 'image/png', fileUri: expect.stringMatching(/^duologue-file:.*bytes=424$/) } },
    ]);
    expect(body.events[1].content.parts).toEqual([{ text: 'Hello.' }]);
  });

  it('[S16a] are told from a place on', async () => {
    const server = await talked(true);
    const rest = await (await server.get('/sessions/chat-1/events?from=1', ann)).json();
    expect(rest.events).toHaveLength(1);
    const none = await (await server.get('/sessions/chat-1/events?from=2', ann)).json();
    expect(none).toEqual({ events: [], next: 2, count: 2 });
    for (const from of ['x', '-1', '1.5']) {
      expect((await server.get(`/sessions/chat-1/events?from=${from}`, ann)).status).toBe(400);
    }
  });

  it('[S16] do not exist for anyone else', async () => {
    const server = await talked(true);
    expect((await server.get('/sessions/chat-1/events', { 'x-user': 'bob' })).status).toBe(404);
    expect((await server.get('/sessions/chat-1/events')).status).toBe(401);
  });

  it.each([undefined, false])('[S16b] are nowhere when the server is not set to it: %s', async (inspect) => {
    const server = await talked(inspect);
    expect((await server.get('/sessions/chat-1/events', ann)).status).toBe(404);
  });
});

describe('the demo tells events', () => {
  it.each([
    [{}, true],
    [{ HOST: '127.0.0.1' }, true],
    [{ HOST: '0.0.0.0', DUOLOGUE_API_KEY: 'k' }, false],
    [{ HOST: '0.0.0.0', DUOLOGUE_API_KEY: 'k', DUOLOGUE_INSPECT: '1' }, true],
    [{ DUOLOGUE_INSPECT: '0' }, false],
  ])('on this machine only, unless it is said: %o', (env, inspect) => {
    expect(readSettings(env).inspect).toBe(inspect);
  });
});
