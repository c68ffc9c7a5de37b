import { LlmAgent } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { decodeBinary, type Message, WATCHING_SUBPROTOCOL } from '../../src/protocol/index.ts';
import { createMemoryStore, type DuologueOptions } from '../../src/server/index.ts';
import { say } from '../support/harness.ts';
import { live } from '../support/live.ts';
import { ScriptedLiveConnection, ScriptedModel, text } from '../support/scripted-model.ts';
import type { TestSocket } from '../support/socket.ts';

/** Sound of so many milliseconds, at 1 kHz: one sample each. */
const sound = (ms: number, fill = 0) => ({
  content: {
    role: 'model',
    parts: [
      {
        inlineData: { mimeType: 'audio/pcm;rate=1000', data: Buffer.alloc(ms * 2, fill).toString('base64') },
      },
    ],
  },
});
const words = (text: string, finished = false) => ({
  outputTranscription: { text, finished },
  partial: !finished,
});

/** A server whose model is live itself; the test plays the model's side, a connection after the other. */
async function speaking(count = 1, options: Partial<DuologueOptions> = {}) {
  const connections = Array.from({ length: count }, () => new ScriptedLiveConnection());
  const model = new ScriptedModel([], { connections });
  const server = await live([], [], {
    agent: new LlmAgent({ name: 'assistant', model }),
    ...options,
  });
  const [connection] = connections;
  if (!connection) throw new Error('There is no connection.');
  return { ...server, connection, connections, native: model };
}

/** What was played on a socket, in order: what it is, and how much of it. */
function played(socket: TestSocket): unknown[] {
  return socket.received.flatMap((one): unknown[] => {
    if (one.kind === 'chunk' && one.chunk.type === 'data-sound') return [one.chunk.data];
    const frame = one.kind === 'binary' ? decodeBinary(new Uint8Array(one.bytes)) : null;
    return frame ? [[frame.utterance, frame.payload.byteLength / 2]] : [];
  });
}

const hasPlayed = (socket: TestSocket, count: number) =>
  socket.until(() => played(socket).length >= count, `${count} pieces of sound`);

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

const textOf = (message: Message | undefined) =>
  message?.parts.map((part) => (part.type === 'text' ? part.text : '')).join('');

describe('the sound of a message', () => {
  it('[B27a] [B27b] is an utterance with a number, told before its first frame and after a change of message', async () => {
    const { connect, connection } = await speaking();
    const socket = await connect('?session=s');
    socket.say('one');
    await until(() => connection.sent.some(({ kind }) => kind === 'content'));
    connection.push(sound(5));
    connection.push(sound(3));
    connection.push(words('One.', true));
    connection.push({ turnComplete: true });
    await socket.done();
    socket.say('two');
    await until(() => connection.sent.filter(({ kind }) => kind === 'content').length === 2);
    connection.push(sound(2));
    await hasPlayed(socket, 5);
    const starts = socket.chunks.flatMap((chunk) => (chunk.type === 'start' ? [chunk.messageId] : []));
    expect(played(socket)).toEqual([
      { n: 1, messageId: starts[0], sampleRate: 1000, at: 0 },
      [1, 5],
      [1, 3],
      { n: 2, messageId: starts[1], sampleRate: 1000, at: 0 },
      [2, 2],
    ]);
    connection.push({ turnComplete: true });
    await socket.done(2);
  });

  it('[B27] [C10] [B9b] names its message without the subprotocol too', async () => {
    const { connect, connection } = await speaking();
    const socket = await connect('?session=s', { plain: true });
    socket.say('one');
    await until(() => connection.sent.some(({ kind }) => kind === 'content'));
    connection.push(sound(1));
    const { data } = await socket.chunk('data-pcm');
    const { messageId } = await socket.chunk('start');
    expect(data).toEqual({ chunk: 'AAA=', sampleRate: 1000, channels: 1, bitDepth: 16, messageId });
    connection.push({ turnComplete: true });
    await socket.done();
  });

  it('[B27] [B30] that was spoken while nobody had the floor is heard by a client that comes back', async () => {
    const { connect, connection } = await speaking();
    const watching = { protocols: [WATCHING_SUBPROTOCOL] };
    const first = await connect('?session=s', watching);
    const witness = await connect('?session=s', watching);
    first.say('one');
    await until(() => connection.sent.some(({ kind }) => kind === 'content'));
    connection.push(sound(5));
    await hasPlayed(first, 2);
    const { messageId } = await first.chunk('start');
    first.close();
    await witness.until(
      () => witness.received.some((one) => one.kind === 'chunk' && one.chunk.type === 'data-floor'),
      'the floor to be free',
    );
    connection.push(sound(4));
    connection.push(words('One.', true));
    connection.push({ turnComplete: true });
    await witness.done();
    const second = await connect(`?session=s&last=${first.lastId}&sound=1-5`, watching);
    await hasPlayed(second, 2);
    expect(played(second)).toEqual([{ n: 1, messageId, sampleRate: 1000, at: 5 }, [1, 4]]);
    expect(played(witness)).toEqual([]);
  });

  it('[B27c] [B27d] goes on for a client that comes back where that was, and for one that names another utterance from now on', async () => {
    const { connect, connection } = await speaking();
    const first = await connect('?session=s');
    first.say('one');
    await until(() => connection.sent.some(({ kind }) => kind === 'content'));
    connection.push(sound(5));
    connection.push(sound(5));
    await hasPlayed(first, 3);
    const { messageId } = await first.chunk('start');
    const last = `last=${first.lastId}`;
    const second = await connect(`?session=s&${last}&sound=1-7`);
    await hasPlayed(second, 2);
    connection.push(sound(4));
    await hasPlayed(second, 3);
    const is = { n: 1, messageId, sampleRate: 1000 };
    expect(played(second)).toEqual([{ ...is, at: 7 }, [1, 3], [1, 4]]);
    const third = await connect(`?session=s&${last}&sound=9-0`);
    await third.chunk('data-session');
    connection.push(sound(2));
    await hasPlayed(third, 2);
    expect(played(third)).toEqual([{ ...is, at: 14 }, [1, 2]]);
    connection.push({ turnComplete: true });
    await third.done();
  });
});

describe('what was heard', () => {
  /** A spoken answer of ten words, one a hundred milliseconds; the turn is over, or not. */
  async function spoken(isOver: boolean) {
    const server = await speaking();
    const { connect, connection } = server;
    const socket = await connect('?session=s');
    socket.say('count');
    await until(() => connection.sent.some(({ kind }) => kind === 'content'));
    const all = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];
    for (const word of all) {
      connection.push(sound(100));
      connection.push(words(`${word} `));
    }
    await socket.chunk('text-delta', 10);
    const { messageId = '' } = await socket.chunk('start');
    if (isOver) {
      connection.push(words(`${all.join(' ')} `, true));
      connection.push({ turnComplete: true });
      await socket.done();
    }
    const stored = async () => {
      const { messages } = (await (await server.get('/sessions/s')).json()) as { messages: Message[] };
      return textOf(messages.find(({ id }) => id === messageId));
    };
    return { ...server, socket, messageId, stored };
  }

  it.each([
    ['while it is spoken', false],
    ['when it was said whole, and is still playing', true],
  ])('[B28a] [B28b] is what is left of the stored words, %s', async (_when, isOver) => {
    const { socket, messageId, stored } = await spoken(isOver);
    socket.send('interrupt', { messageId, playedMs: 420, requestId: 'r1' });
    const { data } = await socket.chunk('data-heard');
    await socket.chunk('data-accepted');
    expect(await stored()).toBe('one two three four');
    expect(data).toEqual({ messageId, length: 'one two three four'.length });
  });

  it('[B28c] cuts nothing when all was played, or when nobody says how much was', async () => {
    const { socket, stored } = await spoken(true);
    const whole = await stored();
    socket.send('interrupt', { playedMs: 1000, requestId: 'r1' });
    socket.send('interrupt', { requestId: 'r2' });
    await socket.chunk('data-accepted', 2);
    expect(await stored()).toBe(whole);
  });

  it('[B28] [B6] of an earlier message stops nothing of the one that is being said now', async () => {
    const { socket, messageId, connection, stored } = await spoken(true);
    socket.say('go on');
    await until(() => connection.sent.filter(({ kind }) => kind === 'content').length === 2);
    connection.push(words('More '));
    await socket.chunk('text-delta', 11);
    socket.send('interrupt', { messageId, playedMs: 250, requestId: 'r1' });
    await socket.chunk('data-accepted');
    connection.push(words('words.'));
    connection.push({ turnComplete: true });
    await socket.done(2);
    expect(await stored()).toBe('one two');
    const ends = socket.chunks.flatMap((chunk) => (chunk.type === 'finish' ? [chunk.finishReason] : []));
    expect(ends).toEqual(['stop', 'stop']);
  });

  it('[B28d] when the person began to speak, is cut off once the model has fallen silent by itself', async () => {
    const { socket, messageId, connection, stored } = await spoken(false);
    socket.send('interrupt', { messageId, playedMs: 420, reason: 'speech', requestId: 'r1' });
    await socket.chunk('data-accepted');
    expect(socket.chunks.filter(({ type }) => type === 'finish' || type === 'data-heard')).toEqual([]);
    connection.push({ interrupted: true });
    connection.push({ turnComplete: true });
    await socket.done();
    const { data } = await socket.chunk('data-heard');
    expect(await stored()).toBe('one two three four');
    expect(data).toEqual({ messageId, length: 'one two three four'.length });
  });

  it('[B28a] is what the model remembers of it in the next turn', async () => {
    const { socket, messageId, native, post } = await spoken(true);
    socket.send('interrupt', { messageId, playedMs: 420 });
    await socket.chunk('data-heard');
    native.add([text('Hm.')]);
    await post(say('and then', 's'));
    const remembered = native.lastContents.flatMap(({ role, parts = [] }) =>
      parts.map((part) => [role, part.text]),
    );
    expect(remembered).toEqual([
      ['user', 'count'],
      ['model', 'one two three four'],
      ['user', 'and then'],
    ]);
  });

  it('[B28a] of an earlier message leaves the words of later ones as they are', async () => {
    const { socket, messageId, connection, native, post } = await spoken(true);
    socket.say('go on');
    await until(() => connection.sent.filter(({ kind }) => kind === 'content').length === 2);
    connection.push(words('eleven twelve ', true));
    connection.push({ turnComplete: true });
    await socket.done(2);
    socket.send('interrupt', { messageId, playedMs: 420 });
    await socket.chunk('data-heard');
    native.add([text('Hm.')]);
    await post(say('and then', 's'));
    const remembered = native.lastContents.flatMap(({ role, parts = [] }) =>
      parts.map((part) => [role, part.text]),
    );
    expect(remembered).toEqual([
      ['user', 'count'],
      ['model', 'one two three four'],
      ['user', 'go on'],
      ['model', 'eleven twelve '],
      ['user', 'and then'],
    ]);
  });
});

describe('the end of speech', () => {
  it('[B29b] is told to the model by stop, which finds it by itself otherwise', async () => {
    const { connect, connection, native } = await speaking();
    const socket = await connect('?session=s');
    const kinds = () => connection.sent.map(({ kind }) => kind).filter((kind) => kind !== 'history');
    socket.send('audio_control', { action: 'start' });
    socket.send('audio_chunk', { chunk: 'AAA=' });
    await until(() => kinds().length === 1);
    socket.send('audio_control', { action: 'stop' });
    await until(() => kinds().length === 2);
    expect(kinds()).toEqual(['realtime', 'activityEnd']);
    const detection = native.connects[0]?.liveConnectConfig.realtimeInputConfig;
    expect(detection?.automaticActivityDetection?.disabled).not.toBe(true);
  });

  it('[B29a] belongs to the client that says so: start and stop are the ends of what is said', async () => {
    const { connect, connection, native } = await speaking();
    const socket = await connect('?session=s');
    const kinds = () => connection.sent.map(({ kind }) => kind).filter((kind) => kind !== 'history');
    socket.send('audio_control', { action: 'start', detection: 'client' });
    socket.send('audio_chunk', { chunk: 'AAA=' });
    socket.send('audio_control', { action: 'stop' });
    await until(() => kinds().length === 3);
    expect(kinds()).toEqual(['activityStart', 'realtime', 'activityEnd']);
    const detection = native.connects[0]?.liveConnectConfig.realtimeInputConfig;
    expect(detection?.automaticActivityDetection?.disabled).toBe(true);
  });

  it('[B29] changes hands with the next start: the run is opened anew', async () => {
    const { connect, connections } = await speaking(2);
    const [first, second] = connections;
    const socket = await connect('?session=s');
    const kinds = (of: ScriptedLiveConnection | undefined) =>
      of?.sent.map(({ kind }) => kind).filter((kind) => kind !== 'history') ?? [];
    socket.send('audio_control', { action: 'start' });
    socket.send('audio_chunk', { chunk: 'AAA=' });
    await until(() => kinds(first).length === 1);
    socket.send('audio_control', { action: 'start', detection: 'client' });
    socket.send('audio_chunk', { chunk: 'AAA=' });
    await until(() => kinds(second).length === 2);
    expect(kinds(second)).toEqual(['activityStart', 'realtime']);
  });

  it('[B29] is where a connection ends that leaves with its microphone on', async () => {
    const { connect, connection } = await speaking();
    const socket = await connect('?session=s');
    socket.send('audio_control', { action: 'start' });
    socket.send('audio_chunk', { chunk: 'AAA=' });
    await until(() => connection.sent.some(({ kind }) => kind === 'realtime'));
    socket.socket.terminate();
    await until(() => connection.sent.some(({ kind }) => kind === 'activityEnd'));
  });
});

describe('a message whose server dies while it is spoken', () => {
  const key = { app: 'duologue', user: 'live_user', id: 's' };
  const TEN = 'one two three four five six seven eight nine ten';
  const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };

  /** A server, and what its store has of the last message. */
  async function mortal() {
    const store = createMemoryStore();
    const server = await speaking(1, { store });
    const socket = await server.connect('?session=s');
    const kept = async () => (await store.loadMessages(key)).at(-1);
    const ask = async (text: string, times: number) => {
      socket.say(text);
      await until(() => server.connection.sent.filter(({ kind }) => kind === 'content').length === times);
    };
    /** The first process writes nothing more: for the next one it is dead. */
    const restart = async () => {
      const after = await live([[text('Hello.')]], [], { store });
      await after.get('/sessions/s');
      return after;
    };
    return { ...server, store, socket, kept, ask, restart };
  }

  it('[R7b] is marked as cut off, though all of its words had come', async () => {
    const { connection, socket, kept, ask, restart } = await mortal();
    await ask('one', 1);
    connection.push(words('One two three.', true));
    connection.push(sound(1000));
    await hasPlayed(socket, 2);
    await expect.poll(async () => (await kept())?.metadata?.audio?.bytes).toBe(2000);
    await restart();
    expect(textOf(await kept())).toBe('One two three.');
    expect((await kept())?.metadata).toMatchObject({ interrupted: true, cutOff: true });
    await restart();
    expect((await kept())?.metadata).toMatchObject({ interrupted: true, cutOff: true });
  });

  it('[R7f] keeps the words whose sound was sent, at the pace of the answer before, and the model remembers no more', async () => {
    const { connection, socket, store, kept, ask, restart } = await mortal();
    await ask('one', 1);
    connection.push(words(TEN, true));
    connection.push(sound(4800));
    connection.push({ turnComplete: true });
    await socket.done();
    await ask('two', 2);
    connection.push(words(TEN, true));
    for (let piece = 0; piece < 19; piece++) connection.push(sound(100));
    await expect.poll(async () => (await kept())?.metadata?.audio?.bytes).toBe(3800);
    await restart();
    expect(textOf(await kept())).toBe('one two three four');
    const { events } = (await store.loadSession(key)) ?? { events: [] };
    const texts = events.flatMap(({ content }) => (content?.role === 'model' ? (content.parts ?? []) : []));
    expect(texts.map((part) => part.text).filter(Boolean)).toEqual([TEN, 'one two three four']);
    await restart();
    expect(textOf(await kept())).toBe('one two three four');
  });

  it('[R7f] loses only words that no voice could have spoken in that time, when no answer before tells its pace', async () => {
    const { connection, kept, ask, restart } = await mortal();
    await ask('one', 1);
    connection.push(words(TEN, true));
    connection.push(sound(600));
    await expect.poll(async () => (await kept())?.metadata?.audio?.bytes).toBe(1200);
    await restart();
    expect(textOf(await kept())).toBe('one two three');
  });

  it('[R7f] keeps its first word, however little was sent', async () => {
    const { connection, kept, ask, restart } = await mortal();
    await ask('one', 1);
    connection.push(words('Wonderful days.', true));
    connection.push(sound(5));
    await expect.poll(async () => (await kept())?.metadata?.audio?.bytes).toBe(10);
    await restart();
    expect(textOf(await kept())).toBe('Wonderful');
  });

  it('[C12] [R7] has the usage that the model had told', async () => {
    const { connection, kept, ask, restart } = await mortal();
    await ask('one', 1);
    connection.push(words('One two three.', true));
    connection.push({ usageMetadata });
    connection.push(sound(1000));
    await expect.poll(async () => (await kept())?.metadata?.audio?.bytes).toBe(2000);
    await restart();
    expect((await kept())?.metadata).toMatchObject({
      cutOff: true,
      usage: { input: 10, output: 5, total: 15 },
    });
  });

  it('is not marked once it had its end', async () => {
    const { connection, socket, kept, ask, restart } = await mortal();
    await ask('one', 1);
    connection.push(words('One two three.', true));
    connection.push(sound(5));
    connection.push({ turnComplete: true });
    await socket.done();
    await restart();
    expect((await kept())?.metadata).toMatchObject({ audio: { bytes: 10 } });
    expect((await kept())?.metadata?.interrupted).toBeUndefined();
    expect(textOf(await kept())).toBe('One two three.');
  });
});
