import { LlmAgent } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { decodeBinary } from '../../src/protocol/index.ts';
import { turns as until } from '../server/support/turns.ts';
import { fourTools } from '../support/demo-tools.ts';
import { say } from '../support/harness.ts';
import { decision, live } from '../support/live.ts';
import { call, ScriptedLiveConnection, ScriptedModel, type Sent } from '../support/scripted-model.ts';

const audio = (data: string) => ({
  content: { role: 'model', parts: [{ inlineData: { mimeType: 'audio/pcm;rate=24000', data } }] },
});
const transcript = (text: string, finished = false) => ({
  outputTranscription: { text, finished },
  partial: !finished,
});
const heard = (text: string, finished = false) => ({
  inputTranscription: { text, finished },
  partial: !finished,
});

/** A server whose model is live itself; the test plays the model's side. */
async function native(onSend?: (sent: Sent, connection: ScriptedLiveConnection) => void) {
  const connection = new ScriptedLiveConnection(onSend);
  const log: string[] = [];
  const { payment, weather } = fourTools(log);
  const model = new ScriptedModel([], { connections: [connection] });
  const agent = new LlmAgent({ name: 'assistant', model, tools: [payment, weather] });
  const server = await live([], [], { agent });
  return { ...server, connection, log, nativeModel: model };
}

describe('a live model', () => {
  it('[B14] speech and transcripts that come while a card is open are delivered while it is open', async () => {
    const { connect, connection, log } = await native();
    const socket = await connect();
    socket.say('pay Alice 30');
    await until(() => connection.sent.some(({ kind }) => kind === 'content'));
    connection.push(call('process_payment', { amount: 30, recipient: 'Alice' }, 'function-call-1'));
    const card = await socket.chunk('tool-approval-request');
    connection.push(audio('AAAA'));
    connection.push(transcript('I am still '));
    connection.push(transcript('here.'));
    await socket.until((all) => all.some((one) => one.kind === 'binary'), 'sound');
    await socket.chunk('text-delta', 2);
    expect(log).toEqual([]);
    const sound = socket.received.find((one) => one.kind === 'binary');
    expect(sound?.kind === 'binary' && decodeBinary(new Uint8Array(sound.bytes))).toEqual({
      kind: 2,
      sampleRate: 24_000,
      utterance: 1,
      payload: new Uint8Array(3),
    });
    connection.push(transcript('I am still here.', true));
    socket.send('message', decision(card));
    await socket.chunk('tool-output-available');
    await until(() =>
      connection.sent.some(
        ({ kind, ...sent }) => kind === 'content' && JSON.stringify(sent).includes('functionResponse'),
      ),
    );
    expect(log).toEqual(['pay Alice 30']);
    connection.push(transcript('Paid.'));
    connection.push(transcript('Paid.', true));
    connection.push({ turnComplete: true });
    await socket.done();
    expect(socket.chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? [chunk.delta] : []))).toEqual([
      'I am still ',
      'here.',
      'Paid.',
    ]);
  });

  it('[B4b] sound goes to the model between start and stop, and nothing after', async () => {
    const { connect, connection } = await native();
    const socket = await connect();
    socket.send('audio_control', { action: 'start' });
    socket.send('audio_chunk', { chunk: 'AAECAw==', sampleRate: 16000, channels: 1, bitDepth: 16 });
    await until(() => connection.sent.some(({ kind }) => kind === 'realtime'));
    expect(connection.sent.find(({ kind }) => kind === 'realtime')).toEqual({
      kind: 'realtime',
      value: { mimeType: 'audio/pcm;rate=16000', data: 'AAECAw==' },
    });
    socket.send('audio_control', { action: 'stop' });
    socket.send('audio_chunk', { chunk: 'AAAA' });
    expect((await socket.chunk('data-error')).data.code).toBe('bad_audio');
  });

  it('[B4c] the first sound of a client that never says start turns the microphone on', async () => {
    const { connect, connection } = await native();
    const socket = await connect();
    socket.send('audio_chunk', { chunk: 'AAECAw==', sampleRate: 16000, channels: 1, bitDepth: 16 });
    await until(() => connection.sent.some(({ kind }) => kind === 'realtime'));
    expect(socket.chunks.filter(({ type }) => type === 'data-error')).toEqual([]);
  });

  it('what is spoken, by both sides, is shown, stored, and known in the next turn over SSE', async () => {
    const { connect, connection, get, post, nativeModel } = await native();
    const socket = await connect('?session=voice');
    socket.send('audio_control', { action: 'start' });
    socket.send('audio_chunk', { chunk: 'AAECAw==' });
    await until(() => connection.sent.some(({ kind }) => kind === 'realtime'));
    connection.push(heard('my name '));
    connection.push(heard('my name is Ken', true));
    connection.push(audio('AAAA'));
    connection.push(transcript('Hello Ken.'));
    connection.push(transcript('Hello Ken.', true));
    connection.push({ turnComplete: true });
    await socket.done();
    const heardChunks = socket.received.flatMap((one) =>
      one.kind === 'chunk' && one.chunk.type === 'data-transcript' ? [one.chunk.data] : [],
    );
    expect(heardChunks.at(-1)).toEqual({ role: 'user', text: 'my name is Ken', finished: true });
    const { messages } = (await (await get('/sessions/voice')).json()) as {
      messages: { role: string; parts: { text?: string }[] }[];
    };
    expect(messages.map(({ role, parts }) => [role, parts[0]?.text])).toEqual([
      ['user', 'my name is Ken'],
      ['assistant', 'Hello Ken.'],
    ]);
    socket.close();
    nativeModel.add([{ content: { role: 'model', parts: [{ text: 'Ken.' }] } }]);
    await post(say('who am I', 'voice'));
    expect(nativeModel.lastContents.map(({ role, parts }) => [role, parts?.[0]?.text])).toEqual([
      ['user', 'my name is Ken'],
      ['model', 'Hello Ken.'],
      ['user', 'who am I'],
    ]);
  });

  it('[B16] speech interrupts: what was said is kept and the message says so', async () => {
    const { connect, connection } = await native();
    const socket = await connect();
    socket.say('tell me something');
    await until(() => connection.sent.some(({ kind }) => kind === 'content'));
    connection.push(transcript('Once upon'));
    await socket.chunk('text-delta');
    connection.push(transcript('Once upon', true));
    connection.push({ interrupted: true });
    connection.push({ turnComplete: true });
    await socket.done();
    expect(socket.chunks.at(-1)).toMatchObject({ type: 'finish', messageMetadata: { interrupted: true } });
    connection.push(transcript('Yes?'));
    connection.push(transcript('Yes?', true));
    connection.push({ turnComplete: true });
    await socket.done(2);
    expect(socket.chunks.filter(({ type }) => type === 'start')).toHaveLength(2);
  });

  it('a model that hangs up in mid-answer is told as an error, and the next message opens a new run', async () => {
    const { connect, connection, nativeModel } = await native();
    const socket = await connect();
    socket.say('hello');
    await until(() => connection.sent.some(({ kind }) => kind === 'content'));
    connection.push(transcript('Hel'));
    await socket.chunk('text-delta');
    connection.fail(new Error('socket died'));
    await socket.done();
    expect(socket.chunks.map(({ type }) => type).slice(-2)).toEqual(['error', 'finish']);
    expect(nativeModel.connects).toHaveLength(1);
  });
});

it.each([
  [
    'API key not valid. Please pass a valid API key.',
    'The model is not configured: the model provider does not accept the key of this server (401).',
  ],
  ['fetch failed', 'The model provider cannot be reached: try again in a moment.'],
])('[S7] a live connection that fails says why: %s', async (message, errorText) => {
  const model = new ScriptedModel([], { connections: [new Error(message), new Error(message)] });
  const { connect } = await live([], [], { agent: new LlmAgent({ name: 'assistant', model }) });
  const socket = await connect();
  socket.say('hi');
  expect(await socket.chunk('error')).toEqual({ type: 'error', errorText });
  await socket.done();
  socket.close();
});
