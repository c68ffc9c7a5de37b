import { LlmAgent } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { BINARY, encodeBinary, SUBPROTOCOL } from '../../src/protocol/index.ts';
import { createMemoryStore } from '../../src/server/index.ts';
import { auditLines } from '../../src/testing/store/setup.ts';
import { failOnUnhandled } from '../contract/support/unhandled.ts';
import { turns } from '../server/support/turns.ts';
import { ManualClock } from '../support/clock.ts';
import { fourTools } from '../support/demo-tools.ts';
import { decision, live } from '../support/live.ts';
import {
  calls,
  partial,
  ScriptedLiveConnection,
  ScriptedModel,
  type ScriptedTurn,
  text,
} from '../support/scripted-model.ts';
import { settled } from '../support/settled.ts';
import { TestSocket } from '../support/socket.ts';

failOnUnhandled();

const PAY_ALICE = { id: 'call-a', name: 'process_payment', args: { amount: 30, recipient: 'Alice' } };

describe('someone else’s session', () => {
  const authenticate = (request: Request) => request.headers.get('x-user');

  it('[A4] is another one under the same id: nothing is seen, answered or taken over', async () => {
    const log: string[] = [];
    const { payment } = fourTools(log);
    const server = await live([[calls(PAY_ALICE)], [text('Paid.')]], [payment], { authenticate });
    const mine = await server.connect('?session=s', { headers: { 'x-user': 'ann' } });
    mine.say('pay');
    const card = await mine.chunk('tool-approval-request');
    const { lastId } = mine;
    const other = await server.connect(`?session=s&last=${lastId}`, { headers: { 'x-user': 'bob' } });
    expect((await other.chunk('data-reset')).data.messages).toEqual([]);
    other.send('message', decision(card));
    expect((await other.chunk('data-error')).data.code).toBe('answer_refused');
    other.send('tool_result', { toolCallId: card.toolCallId, status: 'approved' });
    await other.chunk('data-error', 2);
    other.send('interrupt');
    await settled();
    expect(log).toEqual([]);
    expect(mine.received.some(({ kind }) => kind === 'close')).toBe(false);
    mine.send('message', decision(card));
    await mine.done();
    expect(log).toEqual(['pay Alice 30']);
    expect(other.chunks).toEqual([]);
  });

  it.each([
    ['refuses', () => null, 401],
    ['fails', () => Promise.reject(new Error('db: secret at 10.0.0.1')), 500],
    [
      'throws',
      () => {
        throw new Error('secret');
      },
      500,
    ],
    ['gives a number', () => 42 as unknown as string, 401],
    ['forgets to give anything', () => undefined as unknown as string, 401],
  ])('[A4] [E3] an `authenticate` that %s opens no socket', async (_name, authenticate, status) => {
    const server = await live([], [], { authenticate });
    const socket = new TestSocket(server.url);
    await expect(socket.opened()).rejects.toThrow(String(status));
    expect(server.duologue.sockets.size).toBe(0);
  });
});

describe('ids', () => {
  it.each(['.', '..', '%2e%2e', '', 'x'.repeat(257)])('[A1c] %j is no session', async (id) => {
    const server = await live([], []);
    const socket = new TestSocket(`${server.url}?session=${id}`);
    await expect(socket.opened()).rejects.toThrow('400');
  });

  it.each([
    ['300 characters', 'u'.repeat(300)],
    ['half a character', 'u\ud83d'],
  ])('[B11] a user whose name has %s comes back to a session of their own', async (_, name) => {
    const server = await live([], [], { authenticate: () => name });
    const first = await server.connect();
    const { sessionId } = (await first.chunk('data-session')).data;
    const second = await server.connect(`?session=${encodeURIComponent(sessionId)}`);
    expect((await second.chunk('data-session')).data.sessionId).toBe(sessionId);
  });
});

describe('storms', () => {
  it('[B17] [B11] four hundred takeovers of one session leave one connection, one run and one line of history', async () => {
    const store = createMemoryStore();
    const clock = new ManualClock();
    const server = await live([[text('Here.')]], [], { store, clock, readLimit: false });
    let last = await server.connect('?session=storm');
    for (let i = 0; i < 16; i++) {
      const batch = await Promise.all(Array.from({ length: 25 }, () => server.connect('?session=storm')));
      last = batch.at(-1) ?? last;
    }
    await settled();
    expect(server.duologue.sockets.size).toBe(1);
    const stored = await store.loadSession({ app: 'duologue', user: 'live_user', id: 'storm' });
    expect(stored?.events).toHaveLength(1);
    // One heartbeat, one sweep, and no graces.
    expect(clock.pending).toBeLessThanOrEqual(3);
    last.socket.terminate();
    await settled();
    const socket = await server.connect('?session=storm');
    socket.say('hi');
    await socket.until(() => {
      clock.advance(20);
      return socket.dones === 1;
    });
  });

  it('a socket that is gone before it is greeted, and frames behind a close, disturb nobody', async () => {
    const server = await live([[text('Here.')]]);
    for (let i = 0; i < 20; i++) {
      const socket = new TestSocket(`${server.url}?session=hasty`);
      socket.socket.on('open', () => {
        socket.say('never heard', `m-${i}`);
        socket.socket.send('not json');
        for (let k = 0; k < 20; k++) socket.send('message', decision({ approvalId: 'a', toolCallId: 'b' }));
        socket.socket.terminate();
      });
      await socket.closed();
    }
    await settled();
    expect(server.duologue.sockets.size).toBe(0);
  });

  it('[B22b] a socket admitted while the server closes is told so', async () => {
    let let_: () => void = () => undefined;
    let asked = 0;
    const server = await live([], [], {
      authenticate: async () => {
        asked++;
        await new Promise<void>((resolve) => {
          let_ = resolve;
        });
        return 'ann';
      },
    });
    const socket = new TestSocket(server.url);
    await turns(() => asked > 0);
    const closed = server.duologue.close();
    await settled();
    let_();
    expect([1012, 1006]).toContain(await socket.closed());
    await closed;
    expect(server.duologue.sockets.size).toBe(0);
  });

  it('[T7] a message with 100,000 answers does not become 100,000 lines', async () => {
    const store = createMemoryStore();
    const server = await live([[text('Here.')]], [], { store });
    const socket = await server.connect('?session=many');
    const part = {
      type: 'tool-x',
      toolCallId: 'x',
      state: 'approval-responded',
      approval: { id: 'approval_x', approved: true },
    };
    socket.send('message', {
      messages: [{ id: 'a', role: 'assistant', parts: Array.from({ length: 100_000 }, () => part) }],
    });
    await socket.chunk('data-error');
    const lines = await auditLines(store, { app: 'duologue', user: 'live_user', id: 'many' });
    expect(lines.length).toBeLessThanOrEqual(100);
    socket.say('hi');
    await socket.done();
  });
});

describe('sound and pictures without end', () => {
  it('[B21] are dropped before they gather, and the connection is closed when it goes on', async () => {
    let taken = 0;
    const connection = new ScriptedLiveConnection((sent) => {
      if (sent.kind === 'realtime') taken += sent.value.data?.length ?? 0;
    });
    const model = new ScriptedModel([], { connections: [connection] });
    const server = await live([], [], {
      agent: new LlmAgent({ name: 'assistant', model }),
      clock: new ManualClock(),
      socketLimits: { mediaBytesPerSecond: 4000 },
    });
    const socket = await server.connect();
    socket.send('audio_control', { action: 'start' });
    const frame = encodeBinary({ kind: BINARY.audioUp, sampleRate: 16_000, payload: new Uint8Array(3000) });
    for (let i = 0; i < 2100; i++) socket.socket.send(frame);
    expect(await socket.closed()).toBe(1008);
    // Eight seconds' worth, in whole frames; the model gets them as base64.
    expect(taken).toBe(Math.floor((8 * 4000) / frame.byteLength) * 4000);
    expect((await socket.chunk('data-error')).data.code).toBe('rate_limited');
  });

  it('[S10] sound that comes while a posted turn runs is not kept for later', async () => {
    let open: () => void = () => undefined;
    const slow: ScriptedTurn = async function* () {
      yield partial('Wait');
      await new Promise<void>((resolve) => {
        open = resolve;
      });
      yield text('Waited.');
    };
    const connection = new ScriptedLiveConnection();
    const model = new ScriptedModel([slow], { connections: [connection] });
    const server = await live([], [], { agent: new LlmAgent({ name: 'assistant', model }) });
    const socket = await server.connect('?session=sound');
    const posted = server.post({
      id: 'sound',
      messages: [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'go' }] }],
    });
    await socket.chunk('text-delta');
    socket.send('audio_control', { action: 'start' });
    for (let i = 0; i < 50; i++) socket.send('audio_chunk', { chunk: 'AAAA' });
    await settled();
    open();
    await posted;
    await settled();
    expect(connection.sent.filter(({ kind }) => kind === 'realtime')).toEqual([]);
  });

  it('a first word and a first sound at once open one run', async () => {
    const connection = new ScriptedLiveConnection((sent, self) => {
      if (sent.kind === 'content')
        self.push({ outputTranscription: { text: 'Hi.', finished: true } }, { turnComplete: true });
    });
    const model = new ScriptedModel([], { connections: [connection] });
    const server = await live([], [], { agent: new LlmAgent({ name: 'assistant', model }) });
    const socket = await server.connect();
    socket.send('audio_control', { action: 'start' });
    socket.send('audio_chunk', { chunk: 'AAAA' });
    socket.say('hello');
    socket.send('audio_chunk', { chunk: 'AAAA' });
    await socket.done();
    expect(model.connects).toHaveLength(1);
  });
});

describe('a model without end', () => {
  it('[R4] more pieces in one go than are kept: all arrive, and others are served meanwhile', {
    timeout: 180_000,
  }, async () => {
    const PIECES = 55_000;
    const endless: ScriptedTurn = async function* () {
      for (let i = 0; i < PIECES; i++) yield partial('x');
      yield text('x'.repeat(PIECES));
    };
    const server = await live([endless, [text('Me too.')]]);
    let count = 0;
    let isDone = false;
    const socket = new WebSocket(`${server.url}?session=endless`, [SUBPROTOCOL]);
    const over = new Promise<number | null>((resolve) => {
      socket.on('close', (code) => resolve(code));
      socket.on('message', (data: Buffer) => {
        const frame = data.toString('utf8');
        count += frame.match(/"delta":"x"/g)?.length ?? 0;
        if (!frame.includes('[DONE]')) return;
        isDone = true;
        resolve(null);
      });
    });
    await new Promise((resolve) => socket.once('open', resolve));
    socket.send(JSON.stringify({ type: 'message', messages: [{ role: 'user', content: 'go' }] }));
    await turns(() => count > 0);
    const other = await server.connect('?session=other');
    other.say('hi');
    await other.done();
    expect(isDone).toBe(false);
    expect([await over, count]).toEqual([null, PIECES]);
    socket.terminate();
  });
});
