import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { ProtocolError } from '../../src/protocol/index.ts';
import { ManualClock } from '../support/clock.ts';
import { fourTools } from '../support/demo-tools.ts';
import { decision, live } from '../support/live.ts';
import { calls, partial, text } from '../support/scripted-model.ts';
import { settled } from '../support/settled.ts';
import { TestSocket } from '../support/socket.ts';

const PAY_ALICE = { name: 'process_payment', args: { amount: 30, recipient: 'Alice' } };

describe('frames that are wrong', () => {
  it('[E5] a text frame that is not JSON closes with 1002', async () => {
    const { connect } = await live([]);
    const socket = await connect();
    socket.socket.send('hello');
    expect(await socket.closed()).toBe(1002);
  });

  it.each([
    ['unknown_frame', { type: 'dance' }],
    ['bad_version', { type: 'ping', version: '2.0', data: {} }],
    ['bad_request', { version: '1.0' }],
    ['bad_request', { type: 'message', data: {} }],
    ['bad_request', { type: 'tool_result', data: { toolCallId: 'x' } }],
    ['empty_message', { type: 'message', data: { messages: [{ role: 'user', parts: [] }] } }],
    [
      'bad_request',
      {
        type: 'message',
        data: { messages: [{ role: 'assistant', parts: [{ type: 'dynamic-tool', toolCallId: 'c1' }] }] },
      },
    ],
    ['bad_audio', { type: 'audio_chunk', data: { chunk: 'AAA=', sampleRate: 48000 } }],
    ['bad_image', { type: 'video_frame', data: { mediaType: 'image/jpeg', data: 'AAAA' } }],
    ['nothing_to_answer', { type: 'tool_result', data: { toolCallId: '__proto__', result: {} } }],
  ])('[B18] [E5c] %s is told and life goes on', async (code, frame) => {
    const { connect } = await live([[text('Still here.')]]);
    const socket = await connect();
    socket.socket.send(JSON.stringify(frame));
    expect((await socket.chunk('data-error')).data.code).toBe(code);
    socket.say('hi');
    await socket.done();
  });

  it('[A2] a frame beyond the limit closes with 1009', async () => {
    const { connect } = await live([]);
    const socket = await connect();
    // Its head alone: what is sent after the server has closed would take the code with it.
    const head = Buffer.from([0x81, 0xff, ...Buffer.alloc(8), ...Buffer.alloc(4)]);
    head.writeBigUInt64BE(24n * 1024n * 1024n + 1n, 2);
    (socket.socket as unknown as { _socket: Socket })._socket.write(head);
    expect(await socket.closed()).toBe(1009);
  });

  it('[B8] binary frames that are none are refused, with and without the subprotocol', async () => {
    const { connect } = await live([]);
    for (const options of [{}, { plain: true }]) {
      const socket = await connect('', options);
      socket.socket.send(new Uint8Array([9, 9, 9]));
      expect((await socket.chunk('data-error')).data.code).toBe('unknown_frame');
    }
  });

  it('[B21b] a flood is held off, then closed with 1008', async () => {
    const { connect } = await live([]);
    const socket = await connect();
    for (let i = 0; i < 4000; i++) socket.socket.send('{"type":"ping"}');
    expect(await socket.closed()).toBe(1008);
  });

  it('[A7] forged answers are taken so often and no more: a flood does not fill the audit log', async () => {
    const clock = new ManualClock();
    const { connect, get } = await live([], [], { clock, socketLimits: { answersPerMinute: 3 } });
    const socket = await connect('?session=forged');
    for (let n = 0; n < 5; n++) socket.send('tool_result', { toolCallId: `c${n}`, status: 'approved' });
    await socket.chunk('data-error', 5);
    const reported = () =>
      socket.received.flatMap((one) =>
        one.kind === 'chunk' && one.chunk.type === 'data-error' ? [one.chunk.data] : [],
      );
    expect(reported().filter(({ code }) => code === 'rate_limited')).toEqual([
      {
        code: 'rate_limited',
        message: expect.any(String),
        retryable: true,
        retryAfterMs: 20_000,
      },
      expect.objectContaining({ code: 'rate_limited' }),
    ]);
    expect((await (await get('/approvals/forged')).text()).trim().split('\n')).toHaveLength(3);
    clock.advance(20_000);
    socket.send('tool_result', { toolCallId: 'c6', status: 'approved' });
    await socket.chunk('data-error', 6);
    expect(reported().at(-1)).toMatchObject({ code: 'answer_refused' });
  });

  it('answers for foreign calls never count', async () => {
    const log: string[] = [];
    const { payment } = fourTools(log);
    const { connect } = await live([[calls(PAY_ALICE)]], [payment]);
    const mine = await connect();
    const other = await connect();
    mine.say('pay');
    const card = await mine.chunk('tool-approval-request');
    other.send('message', decision(card));
    expect((await other.chunk('data-error')).data.code).toBe('answer_refused');
    other.send('tool_result', { toolCallId: card.toolCallId, status: 'approved', result: {} });
    await other.chunk('data-error', 2);
    expect(log).toEqual([]);
    expect(mine.chunks.some(({ type }) => type.startsWith('tool-output'))).toBe(false);
  });
});

describe('access', () => {
  it.each([
    ['a foreign origin', { origin: 'https://evil.example' }, 403],
    ['a null origin', { origin: 'null' }, 403],
    ['a foreign host', { host: 'evil.example' }, 403],
    ['no key', {}, 401],
    ['a wrong key', { 'x-api-key': 'guess' }, 401],
  ])('[A6] [A5] [E5b] %s is refused before any work', async (_, headers, status) => {
    const { url } = await live([], [], { apiKey: 'secret' });
    const socket = new TestSocket(url, { headers });
    await expect(socket.opened()).rejects.toThrow(String(status));
  });

  it('[A9] a user with too many connections is refused until one is closed; others are not', async () => {
    const { url, duologue } = await live([], [], {
      authenticate: (request) => request.headers.get('x-user'),
      socketLimits: { connectionsPerUser: 2 },
    });
    const connect = async (user: string) => {
      const socket = new TestSocket(url, { headers: { 'x-user': user } });
      await socket.opened();
      return socket;
    };
    const [first] = [await connect('alice'), await connect('alice')];
    await expect(connect('alice')).rejects.toThrow('429');
    const refusal = await duologue.sockets
      .admit(new Request(url.replace('ws', 'http'), { headers: { 'x-user': 'alice' } }))
      .catch((error: ProtocolError) => error.toWire());
    expect(refusal).toEqual({
      code: 'rate_limited',
      message: expect.any(String),
      retryable: true,
      retryAfterMs: 10_000,
    });
    await connect('bob');
    first?.close();
    await first?.closed();
    await settled();
    await connect('alice');
    await expect(connect('alice')).rejects.toThrow('429');
  });

  it('[A9] a handshake that is refused or that nobody waits for counts no longer', async () => {
    const { url, connect, duologue } = await live([], [], {
      socketLimits: { connectionsPerUser: 1 },
      limits: { idLength: 20 },
    });
    const request = new Request(url.replace('ws', 'http'));
    const admission = await duologue.sockets.admit(request);
    await expect(connect()).rejects.toThrow('429');
    admission.drop();
    admission.drop();
    await expect(connect(`?session=${'x'.repeat(21)}`)).rejects.toThrow('400');
    await connect();
    await expect(connect()).rejects.toThrow('429');
  });

  it('[A5a] the key may come as a subprotocol', async () => {
    const { url } = await live([[text('Hi.')]], [], { apiKey: 'secret' });
    const key = Buffer.from('secret').toString('base64url');
    const socket = new TestSocket(url, { protocols: ['duologue.v1', `duologue.key.${key}`] });
    await socket.opened();
    expect(socket.socket.protocol).toBe('duologue.v1');
    socket.say('hi');
    await socket.done();
  });
});

describe('a plain client', () => {
  it('[B9b] gets one bare block a frame, without ids', async () => {
    const { connect } = await live([[partial('a'), partial('b'), text('ab')]]);
    const socket = await connect('', { plain: true });
    const frames: string[] = [];
    socket.socket.on('message', (data: Buffer) => frames.push(data.toString('utf8')));
    socket.socket.send(JSON.stringify({ type: 'message', messages: [{ role: 'user', content: 'hi' }] }));
    await socket.done();
    for (const frame of frames) expect(frame).toMatch(/^data: [^\n]+\n\n$/);
  });
});

describe('many at once', () => {
  it('[B11] 200 connections with cards open never see each other’s anything', async () => {
    const log: string[] = [];
    const { payment } = fourTools(log);
    const count = 200;
    const turns = Array.from(
      { length: count * 2 },
      () =>
        async function* (request: {
          contents: { parts?: { text?: string; functionResponse?: unknown }[] }[];
        }) {
          const last = request.contents.at(-1)?.parts?.[0];
          const name = request.contents[0]?.parts?.[0]?.text ?? '';
          if (last?.functionResponse) yield text(`paid ${name}`);
          else yield calls({ name: 'process_payment', args: { amount: 1, recipient: name } });
        },
    );
    const { connect, duologue } = await live(turns as never, [payment], { rateLimit: false });
    const sockets = await Promise.all(Array.from({ length: count }, () => connect()));
    sockets.forEach((socket, index) => {
      socket.say(`person-${index}`, `m-${index}`);
    });
    await Promise.all(
      sockets.map(async (socket, index) => {
        const card = await socket.chunk('tool-approval-request');
        socket.send('message', decision(card, index % 3 !== 0));
        await socket.done();
        const words = JSON.stringify(socket.chunks);
        expect(words).toContain(`person-${index}"`);
        for (const other of words.match(/person-\d+/g) ?? []) expect(other).toBe(`person-${index}`);
      }),
    );
    expect(new Set(sockets.map((socket) => JSON.stringify(socket.received[0]))).size).toBe(count);
    expect(log).toHaveLength(count - Math.ceil(count / 3));
    expect(duologue.sockets.size).toBe(count);
    for (const socket of sockets) socket.close();
  });

  it('[B19] a peer that gives no sign of life is closed with 4002', async () => {
    const clock = new ManualClock();
    const { connect } = await live([], [], { clock });
    const socket = await connect();
    socket.socket.pong = () => undefined;
    (
      socket.socket as unknown as { _receiver: { removeAllListeners(name: string): void } }
    )._receiver.removeAllListeners('ping');
    clock.advance(80_000);
    expect(await socket.closed()).toBe(4002);
  });

  it('[B19] a clock that is set back an hour keeps no dead connection open', async () => {
    const clock = new ManualClock();
    const { connect } = await live([], [], { clock });
    const socket = await connect();
    socket.socket.pong = () => undefined;
    (
      socket.socket as unknown as { _receiver: { removeAllListeners(name: string): void } }
    )._receiver.removeAllListeners('ping');
    clock.setBack(60 * 60_000);
    clock.advance(80_000);
    expect(await socket.closed()).toBe(4002);
  });

  it('[B23] a session nobody came back to lets go of its run; what is stored stays', async () => {
    const clock = new ManualClock();
    const { connect, get, duologue } = await live([[text('Hi.')], [text('Back.')]], [], { clock });
    const socket = await connect('?session=gone');
    socket.say('hi');
    await socket.done();
    socket.close();
    await socket.closed();
    await settled();
    const before = clock.pending;
    clock.advance(60_000);
    await settled();
    expect(clock.pending).toBeLessThan(before);
    expect(duologue.sockets.size).toBe(0);
    expect((await (await get('/sessions/gone')).json()).messages).toHaveLength(2);
    const again = await connect('?session=gone');
    again.say('back');
    await again.done();
  });
});
