import { LlmAgent } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { decodeBinary } from '../../src/protocol/index.ts';
import { turns } from '../server/support/turns.ts';
import { live } from '../support/live.ts';
import {
  partial,
  ScriptedLiveConnection,
  ScriptedModel,
  type ScriptedTurn,
  text,
} from '../support/scripted-model.ts';
import type { TestSocket } from '../support/socket.ts';

const PIECES = 6000;
const piece = (number: number) => `${number}:${'x'.repeat(2000)};`;

const long: ScriptedTurn = async function* () {
  for (let i = 0; i < PIECES; i++) {
    yield partial(piece(i));
    // Lets the socket write, as a model that speaks over a network does.
    await new Promise((resolve) => setImmediate(resolve));
  }
  yield text(Array.from({ length: PIECES }, (_, index) => piece(index)).join(''));
};

const textOf = (socket: TestSocket) =>
  socket.chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? [chunk.delta] : [])).join('');

describe('a client that does not read', () => {
  it('[B20b] is closed with 4003 when too much waits, and gets every word once when it comes back', async () => {
    const server = await live([long], [], { socketLimits: { maxBufferedBytes: 64 * 1024, maxLag: 500 } });
    const slow = await server.connect('?session=slow');
    slow.say('go');
    await slow.chunk('text-delta');
    slow.socket.pause();
    await turns(() => server.duologue.sockets.size === 0);
    slow.socket.resume();
    expect([4003, 1006]).toContain(await slow.closed());
    const back = await server.connect(`?session=slow&last=${slow.lastId}`);
    await back.done();
    expect(textOf(slow) + textOf(back)).toBe(
      Array.from({ length: PIECES }, (_, index) => piece(index)).join(''),
    );
  });

  it('[B20] loses old sound first, never words', async () => {
    const connection = new ScriptedLiveConnection();
    const model = new ScriptedModel([], { connections: [connection] });
    const agent = new LlmAgent({ name: 'assistant', model });
    const server = await live([], [], {
      agent,
      socketLimits: { maxBufferedBytes: 32 * 1024, maxSoundBytes: 64 * 1024 },
    });
    const socket = await server.connect();
    socket.say('speak');
    await turns(() => connection.sent.some(({ kind }) => kind === 'content'));
    socket.socket.pause();
    const frames = 2000;
    for (let i = 0; i < frames; i++) {
      const pcm = Buffer.alloc(9600);
      pcm.writeUInt32LE(i, 0);
      connection.push({
        content: {
          role: 'model',
          parts: [{ inlineData: { mimeType: 'audio/pcm;rate=24000', data: pcm.toString('base64') } }],
        },
      });
      connection.push({ outputTranscription: { text: `w${i} `, finished: false }, partial: true });
      if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    connection.push({ turnComplete: true });
    for (let i = 0; i < 200; i++) await new Promise((resolve) => setImmediate(resolve));
    socket.socket.resume();
    await socket.done();
    expect(textOf(socket)).toBe(Array.from({ length: frames }, (_, index) => `w${index} `).join(''));
    const heard = socket.received.flatMap((one) => {
      const frame = one.kind === 'binary' ? decodeBinary(new Uint8Array(one.bytes)) : null;
      return frame ? [new DataView(frame.payload.buffer, frame.payload.byteOffset).getUint32(0, true)] : [];
    });
    expect(heard.length).toBeLessThan(frames);
    expect(heard).toEqual([...heard].sort((a, b) => a - b));
  });
});

describe('closing', () => {
  it('[B22] a server that shuts down lets the turn end, then closes with 1012', async () => {
    let release: () => void = () => undefined;
    const turn: ScriptedTurn = async function* () {
      yield partial('almost ');
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      yield partial('done');
      yield text('almost done');
    };
    const server = await live([turn]);
    const socket = await server.connect();
    socket.say('go');
    await socket.chunk('text-delta');
    const closed = server.served.close();
    setImmediate(() => release());
    expect(await socket.closed()).toBe(1012);
    await closed;
    expect(textOf(socket)).toBe('almost done');
    expect(socket.dones).toBe(1);
  });
});
