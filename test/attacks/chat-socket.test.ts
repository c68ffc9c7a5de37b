import { once } from 'node:events';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { type Served, serve } from '../../src/server/adapters/node.ts';
import type { DuologueOptions } from '../../src/server/index.ts';
import { turns } from '../server/support/turns.ts';
import { fourTools } from '../support/demo-tools.ts';
import { type Harness, harness, say } from '../support/harness.ts';
import { calls, partial, type ScriptedTurn, text } from '../support/scripted-model.ts';

type Chunk = { type: string; approvalId?: string; delta?: string };
type Frame = { type: string; requestId: string; sequence?: number; chunk?: Chunk; errorText?: string };

const PAY = { id: 'call-a', name: 'process_payment', args: { amount: 30, recipient: 'Alice' } };

let served: Served | null = null;
const open: WebSocket[] = [];
afterEach(async () => {
  for (const socket of open.splice(0)) socket.terminate();
  await served?.close();
  served = null;
});

/** A server whose users name themselves, and what they paid. */
async function world(turns: ScriptedTurn[], options: Partial<DuologueOptions> = {}) {
  const paid: string[] = [];
  const made: Harness = harness(turns, [fourTools(paid).payment], {
    rateLimit: false,
    authenticate: (request) => new URL(request.url).searchParams.get('user'),
    ...options,
  });
  served = await serve(made.duologue, { port: 0, quiet: true });
  return { ...made, paid, connect: (user = 'alice') => connect(served?.url ?? '', user) };
}

async function connect(url: string, user: string) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws?user=${user}`);
  open.push(socket);
  const frames: Frame[] = [];
  const waiting = new Set<() => void>();
  const wake = () => {
    for (const one of waiting) one();
  };
  socket.on('message', (data) => {
    frames.push(JSON.parse(String(data)));
    wake();
  });
  const closed = once(socket, 'close').then(([code]) => code as number);
  await once(socket, 'open');
  const until = (isIt: (frame: Frame) => boolean): Promise<Frame> =>
    new Promise((resolve) => {
      const look = () => {
        const found = frames.find(isIt);
        if (!found) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  return {
    socket,
    frames,
    closed,
    until,
    /** The last frame of a request. */
    last: (requestId: string) =>
      until((frame) => frame.requestId === requestId && ['end', 'error', 'no-active'].includes(frame.type)),
    of: (requestId: string) => frames.filter((frame) => frame.requestId === requestId),
    send: (frame: object) => socket.send(JSON.stringify(frame)),
  };
}

const send = (requestId: string, words = 'hello', id = 'chat-1') => ({
  ...say(words, id, `m-${requestId}`),
  type: 'send',
  requestId,
});

/** A turn that says a word, and waits until it is stopped. */
const endless: ScriptedTurn = async function* (_request, _stream, signal) {
  yield partial('One ');
  await new Promise((resolve) => signal?.addEventListener('abort', resolve));
};

const textOf = (frames: Frame[]) => frames.map(({ chunk }) => chunk?.delta ?? '').join('');

describe('a hostile client of the socket for ai', () => {
  it.each<[string, object]>([
    ['messages that are no list', { ...send('q'), messages: 'hello' }],
    ['messages that are none', { ...send('q'), messages: [] }],
    ['a message that is null', { ...send('q'), messages: [null] }],
    ['a role of its own', { ...send('q'), messages: [{ id: 'x', role: 'admin', parts: [] }] }],
    ['an unknown trigger', { ...send('q'), trigger: 'drop-table' }],
    ['no chat', { ...send('q'), id: undefined }],
    ['a chat that is a number', { type: 'resume', requestId: 'q', id: 7 }],
    ['a chat without a name', { type: 'resume', requestId: 'q', id: '' }],
  ])('[W4] gets an error for %s, and can go on', async (_what, frame) => {
    const { connect } = await world([[text('Hello.')]]);
    const client = await connect();
    client.send(frame);
    expect(await client.last('q')).toMatchObject({ type: 'error', requestId: 'q' });
    client.send(send('next'));
    expect(await client.last('next')).toEqual({ type: 'end', requestId: 'next' });
    expect(textOf(client.of('next'))).toBe('Hello.');
  });

  it.each(['../sessions', '..%2fsessions', 'x/stop', 'x?replay=1', 'x#y', '\u0000', 'é'.repeat(5_000)])(
    '[W4] [W7] reaches no other route with the chat name %j',
    async (id) => {
      const { connect } = await world([]);
      const client = await connect();
      client.send({ type: 'resume', requestId: 'q', id });
      expect(['error', 'no-active']).toContain((await client.last('q')).type);
      expect(client.frames).toHaveLength(1);
      expect(client.socket.readyState).toBe(WebSocket.OPEN);
    },
  );

  it.each(['null', '[]', '"send"', '{}', '{"type":"__proto__","requestId":"q"}', '{"type":"send"}', ''])(
    '[W5] loses its connection for the frame %j, and others keep theirs',
    async (frame) => {
      const { connect } = await world([[text('Hello.')]]);
      const [other, client] = [await connect('bob'), await connect()];
      client.socket.send(frame);
      expect(await client.closed).toBe(1002);
      other.send(send('q'));
      expect(await other.last('q')).toEqual({ type: 'end', requestId: 'q' });
    },
  );

  it.each<[string, object]>([
    [
      'a frame that names its request by a megabyte',
      { type: 'resume', id: 'chat-1', requestId: 'q'.repeat(1e6) },
    ],
    ['one without a name', { type: 'resume', id: 'chat-1', requestId: '' }],
  ])('[W5a] loses its connection for %s, which no answer repeats', async (_what, frame) => {
    const { connect } = await world([]);
    const client = await connect();
    client.send(frame);
    expect(await client.closed).toBe(1002);
    expect(client.frames).toEqual([]);
  });

  it.each([
    ['metadata', (deep: string) => `"parts":[{"type":"text","text":"hi"}],"metadata":${deep}`],
    ['a part', (deep: string) => `"parts":[{"type":"text","text":"hi"},${deep}]`],
    ['the parts', (deep: string) => `"parts":${deep}`],
  ])(
    'gets an error or an answer for %s nested a hundred thousand deep, and can continue',
    async (_where, inside) => {
      const { connect } = await world([[text('Hello.')], [text('Hello.')]]);
      const client = await connect();
      const deep = '['.repeat(100_000) + ']'.repeat(100_000);
      client.socket.send(
        `{"type":"send","requestId":"q","id":"chat-1","trigger":"submit-message","messages":[{"id":"m","role":"user",${inside(deep)}}]}`,
      );
      await client.last('q');
      client.send(send('next', 'hello', 'chat-2'));
      expect(await client.last('next')).toEqual({ type: 'end', requestId: 'next' });
    },
  );

  it('loses its connection for a frame above the limit, and others keep theirs', async () => {
    const { connect } = await world([[text('Hello.')]], { limits: { bodyBytes: 1_000_000 } });
    const [other, client] = [await connect('bob'), await connect()];
    client.socket.on('error', () => undefined);
    client.socket.send('x'.repeat(8_000_000));
    expect(await client.closed).toBeGreaterThan(1000);
    other.send(send('q'));
    expect(await other.last('q')).toEqual({ type: 'end', requestId: 'q' });
  });

  it('loses its connection for a flood of frames, and others keep theirs', async () => {
    const { connect } = await world([[text('Hello.')]]);
    const [other, client] = [await connect('bob'), await connect()];
    for (let number = 0; number < 3_000; number++) client.send({ type: 'abort', requestId: `q-${number}` });
    expect(await client.closed).toBeGreaterThan(1000);
    other.send(send('q'));
    expect(await other.last('q')).toEqual({ type: 'end', requestId: 'q' });
  });

  it('[W2] [W6] two sends at once are both answered, each with numbers of its own, and a repeated name changes nothing', async () => {
    const { connect, model } = await world([[text('One.')], [text('Two.')]]);
    const client = await connect();
    client.send(send('q-1', 'first'));
    client.send(send('q-1', 'again'));
    client.send(send('q-2', 'second', 'chat-2'));
    await Promise.all([client.last('q-1'), client.last('q-2')]);
    for (const requestId of ['q-1', 'q-2']) {
      const chunks = client.of(requestId).filter(({ type }) => type === 'chunk');
      expect(chunks.map(({ sequence }) => sequence)).toEqual(chunks.map((_, index) => index));
      expect(client.of(requestId).filter(({ type }) => type === 'end')).toHaveLength(1);
    }
    expect([textOf(client.of('q-1')), textOf(client.of('q-2'))].sort()).toEqual(['One.', 'Two.']);
    expect(model.left).toBe(0);
  });

  it('[T18] a message while an approval is open ends the request, and a late decision pays nothing', async () => {
    const { connect, paid } = await world([[calls(PAY)], [text('Something else.')]]);
    const client = await connect();
    client.send(send('q-1', 'pay'));
    const { chunk } = await client.until((frame) => frame.chunk?.type === 'tool-approval-request');
    expect(await client.last('q-1')).toEqual({ type: 'end', requestId: 'q-1' });
    client.send(send('q-2', 'no, something else'));
    expect(await client.last('q-2')).toEqual({ type: 'end', requestId: 'q-2' });
    expect(textOf(client.of('q-2'))).toBe('Something else.');
    const part = {
      type: 'tool-process_payment',
      toolCallId: 'call-a',
      state: 'approval-responded',
      input: PAY.args,
      approval: { id: chunk?.approvalId, approved: true },
    };
    client.send({ ...send('q-3'), messages: [{ id: 'a', role: 'assistant', parts: [part] }] });
    await client.last('q-3');
    expect(paid).toEqual([]);
  });

  it('[W7] nobody resumes, stops or reads the chat of another user', async () => {
    const { connect } = await world([endless, [text('Mine.')]]);
    const [alice, mallory] = [await connect('alice'), await connect('mallory')];
    alice.send(send('q-1'));
    await alice.until((frame) => frame.chunk?.type === 'text-delta');
    mallory.send({ type: 'resume', requestId: 'q-1', id: 'chat-1' });
    expect(await mallory.last('q-1')).toEqual({ type: 'no-active', requestId: 'q-1' });
    mallory.send({ type: 'abort', requestId: 'q-1' });
    mallory.send(send('q-2'));
    expect(await mallory.last('q-2')).toEqual({ type: 'end', requestId: 'q-2' });
    expect(textOf(mallory.of('q-2'))).toBe('Mine.');
    expect(alice.of('q-1').some(({ type }) => type === 'end')).toBe(false);
  });

  it('that reads nothing, and asks for answers, loses its connection', async () => {
    const { receive, sent, state } = await fakeSocket([]);
    receive({ type: 'resume', requestId: 'q-1', id: 'chat-1' });
    await turns(() => sent.length === 1);
    state.bufferedAmount = 2_000_000;
    receive({ type: 'resume', requestId: 'q-2', id: 'chat-1' });
    await turns(() => state.code !== null);
    expect([sent, state.code]).toEqual([['{"type":"no-active","requestId":"q-1"}'], 1013]);
  });

  it('[W7] that answers no pings makes the server remember the newest 64 responses', async () => {
    const { receive, pong, sent, pings } = await fakeSocket([[text('Hello.')]]);
    receive(send('q-0'));
    for (let number = 1; number <= 65; number++) {
      await turns(() => pings.length === number);
      receive({ type: 'resume', requestId: `q-${number}`, id: 'chat-1' });
    }
    await turns(() => pings.length === 66);
    pong(pings[0]);
    receive({ type: 'resume', requestId: 'again', id: 'chat-1' });
    await turns(() => sent.at(-1) === '{"type":"end","requestId":"again"}');
    pong(pings.at(-1));
    receive({ type: 'resume', requestId: 'confirmed', id: 'chat-1' });
    await turns(() => sent.at(-1) === '{"type":"no-active","requestId":"confirmed"}');
  });
});

/** A connection whose socket is in the hands of the test. */
async function fakeSocket(script: ScriptedTurn[]) {
  const { duologue } = harness(script, [], { rateLimit: false, readLimit: false });
  const admission = await duologue.sockets.admit(new Request('http://localhost/ws'));
  const sent: string[] = [];
  const pings: Uint8Array[] = [];
  const state: { bufferedAmount: number; code: number | null } = { bufferedAmount: 0, code: null };
  const connection = admission.accept({
    protocol: '',
    get bufferedAmount() {
      return state.bufferedAmount;
    },
    send: (data) => void sent.push(String(data)),
    ping: (data) => void (data && pings.push(data)),
    pong: () => undefined,
    close: (code) => {
      state.code = code;
    },
  });
  onTestFinished(() => connection.closed());
  return {
    sent,
    pings,
    state,
    receive: (frame: object) => connection.receive(Buffer.from(JSON.stringify(frame)), false),
    pong: (data: Uint8Array | undefined) => connection.pong(data),
  };
}
