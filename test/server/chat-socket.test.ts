import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { type Served, serve } from '../../src/server/adapters/node.ts';
import type { DuologueOptions } from '../../src/server/index.ts';
import { harness, say } from '../support/harness.ts';
import { partial, type ScriptedTurn, text } from '../support/scripted-model.ts';

type Frame = { type: string; requestId: string; sequence?: number; chunk?: { type: string } };

let served: Served | null = null;
afterEach(async () => {
  await served?.close();
  served = null;
});

async function opened(
  turns: ScriptedTurn[],
  options: Partial<DuologueOptions> = {},
  { path = '/ws', protocols = [] }: { path?: string; protocols?: string[] } = {},
) {
  const made = harness(turns, [], options);
  served = await serve(made.duologue, { port: 0, quiet: true });
  const socket = new WebSocket(`${served.url.replace('http', 'ws')}${path}`, protocols);
  const frames: Frame[] = [];
  let wake = (): void => undefined;
  socket.on('message', (data, isBinary) => {
    if (isBinary) throw new Error('A binary frame came.');
    frames.push(JSON.parse(String(data)));
    wake();
  });
  await once(socket, 'open');
  const until = async (type: string): Promise<Frame> => {
    for (;;) {
      const found = frames.find((frame) => frame.type === type || frame.chunk?.type === type);
      if (found) return found;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  const send = (frame: object) => socket.send(JSON.stringify({ headers: {}, body: {}, ...frame }));
  return { ...made, socket, frames, until, send };
}

/** Tries to connect; the status of the answer, or `101` when the socket opened. */
async function statusOf(path: string, protocols: string[] = []): Promise<number> {
  if (served === null) throw new Error('No server runs.');
  const socket = new WebSocket(`${served.url.replace('http', 'ws')}${path}`, protocols);
  return new Promise((resolve, reject) => {
    socket.once('unexpected-response', (_request, response) => {
      response.resume();
      socket.terminate();
      resolve(response.statusCode ?? 0);
    });
    socket.once('open', () => {
      socket.terminate();
      resolve(101);
    });
    socket.once('error', reject);
  });
}

/** A turn that says a word, and waits until it is stopped. */
const endless: ScriptedTurn = async function* (_request, _stream, signal) {
  yield partial('One ');
  await new Promise((resolve) => signal?.addEventListener('abort', resolve));
};

const SEND = { type: 'send', requestId: 'q-1', ...say('hello') };

describe('the socket for the transport of ai 7', () => {
  it('[W2] [W3] sends nothing first, and then the numbered chunks of each response and its end', async () => {
    const { send, until, frames } = await opened([[text('Hello.')]]);
    send(SEND);
    await until('end');
    const chunks = frames.slice(0, -1);
    expect(chunks.map(({ type, requestId, sequence }) => [type, requestId, sequence])).toEqual(
      chunks.map((_, index) => ['chunk', 'q-1', index]),
    );
    expect(chunks.map(({ chunk }) => chunk?.type)).toEqual([
      'start',
      'text-start',
      'text-delta',
      'text-end',
      'finish',
    ]);
    expect(frames.at(-1)).toEqual({ type: 'end', requestId: 'q-1' });
  });

  it('[W4] answers a refused request with an error, and stays open', async () => {
    const { send, until, socket } = await opened([]);
    send({ ...SEND, messages: [{ role: 'system', parts: [] }] });
    expect(await until('error')).toMatchObject({ requestId: 'q-1' });
    expect(socket.readyState).toBe(WebSocket.OPEN);
  });

  it.each([['not JSON'], ['{"type":"hello","requestId":"q-1"}'], [Buffer.from([1, 2, 3])]])(
    '[W5] closes for a frame that it cannot read',
    async (data) => {
      const { socket } = await opened([]);
      socket.send(data);
      const [code] = await once(socket, 'close');
      expect(code).toBe(1002);
    },
  );

  it('[W7] has nothing to resume in a chat that does not exist', async () => {
    const { send, until } = await opened([]);
    send({ type: 'resume', requestId: 'q-2', id: 'chat-1' });
    expect(await until('no-active')).toEqual({ type: 'no-active', requestId: 'q-2' });
  });

  it.each([
    ['stop', true],
    ['leave', false],
  ] as const)('[W9] an abort with the option %s stops the turn: %s', async (onAbort, isStopped) => {
    const { send, until, get } = await opened([endless], { chatSocket: { onAbort } });
    send(SEND);
    await until('text-delta');
    send({ type: 'abort', requestId: 'q-1' });
    // Frames are handled in order, and the request is refused at once.
    send({ ...SEND, requestId: 'q-3', id: 'other', messages: [{ role: 'system' }] });
    await until('error');
    const isRunning = async () => (await (await get('/sessions/chat-1')).json()).isRunning as boolean;
    while (isStopped && (await isRunning())) await new Promise((resolve) => setImmediate(resolve));
    expect(await isRunning()).toBe(!isStopped);
  });

  it('is at the path of the option, and then not at /ws', async () => {
    const { send, until, frames } = await opened(
      [[text('Hello.')]],
      { chatSocket: { path: '/ai' } },
      { path: '/ai' },
    );
    send(SEND);
    expect(await until('end')).toEqual({ type: 'end', requestId: 'q-1' });
    expect(frames.flatMap(({ chunk }) => (chunk?.type === 'text-delta' ? [chunk] : []))).toMatchObject([
      { delta: 'Hello.' },
    ]);
    expect([await statusOf('/ai'), await statusOf('/ws')]).toEqual([101, 404]);
  });

  it('is nowhere with `chatSocket: false`, while our own socket stays', async () => {
    const { duologue } = harness([], [], { chatSocket: false });
    served = await serve(duologue, { port: 0, quiet: true });
    expect([await statusOf('/ws'), await statusOf('/live')]).toEqual([404, 101]);
  });

  it('[A5d] takes a key beside a subprotocol of ours, which it chooses, and sends no other frames for that', async () => {
    const key = (text: string) => `duologue.key.${Buffer.from(text).toString('base64url')}`;
    const right = key('correct horse battery');
    const { socket, send, until, frames } = await opened(
      [[text('Hello.')]],
      { apiKey: 'correct horse battery' },
      { protocols: ['duologue.v2', right] },
    );
    expect(socket.protocol).toBe('duologue.v2');
    send(SEND);
    await until('end');
    expect(frames.map(({ type, chunk }) => chunk?.type ?? type)).toEqual([
      'start',
      'text-start',
      'text-delta',
      'text-end',
      'finish',
      'end',
    ]);
    expect(await statusOf('/ws', ['duologue.v2', key('wrong')])).toBe(401);
    // No subprotocol is chosen for the key alone, and this client ends such a connection.
    await expect(statusOf('/ws', [right])).rejects.toThrow('Server sent no subprotocol');
  });
});
