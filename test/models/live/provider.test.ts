import type { LlmResponse } from '@google/adk';
import { expect, test } from 'vitest';
import { liveFactsOf } from '../../../src/adk/live-facts.ts';
import { LiveConnection } from '../../../src/models/live/connection.ts';
import { importsOf } from '../../repository/support/module.ts';
import { sourcesUnder } from '../../repository/support/repository.ts';
import { ManualClock } from '../../support/clock.ts';
import { RealtimeProvider, type RealtimeSocket } from './support/realtime-provider.ts';

const user = (text: string) => ({ role: 'user', parts: [{ text }] });
const texts = (role: string, text: string) => ({
  type: 'conversation.item.create',
  item: {
    type: 'message',
    role,
    content: [{ type: role === 'user' ? 'input_text' : 'output_text', text }],
  },
});
const ANSWER = { type: 'response.create' };
const DONE = {
  type: 'response.done',
  response: { status: 'completed', usage: { input_tokens: 5, output_tokens: 7 } },
};
const audio = (delta: string) => ({ type: 'response.output_audio.delta', delta });
const words = (delta: string) => ({ type: 'response.output_audio_transcript.delta', delta });

/** A connection to a provider that is not Gemini, and what ADK reads of it. */
function connect(history = [user('Hi.'), { role: 'model', parts: [{ text: 'Hello!' }] }]) {
  const clock = new ManualClock(0);
  const provider = new RealtimeProvider();
  const options = { timer: clock, ping: null, random: () => 0 };
  const connection = new LiveConnection(provider, { history, handle: null }, options);
  const responses: LlmResponse[] = [];
  const reading = (async () => {
    for await (const response of connection.receive()) responses.push(response);
  })().catch((error: Error) => error.message);
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const socket = (number: number): RealtimeSocket => {
    const found = provider.sockets[number - 1];
    if (!found) throw new Error(`There is no socket ${number}.`);
    return found;
  };
  return { clock, connection, responses, reading, settle, socket, provider };
}

test('a second provider writes only its own mapping: history, a message, speech, a call and its result', async () => {
  const { clock, connection, responses, settle, socket } = connect();
  socket(1).receive({ type: 'session.updated' });
  await connection.sendContent(user('What is the weather?'));
  expect(socket(1).sent.splice(0)).toEqual([
    texts('user', 'Hi.'),
    texts('assistant', 'Hello!'),
    texts('user', 'What is the weather?'),
    ANSWER,
  ]);
  const call = { call_id: 'c1', name: 'weather', arguments: '{"city":"Kyoto"}' };
  socket(1).receive({ type: 'response.function_call_arguments.done', ...call }, DONE);
  const response = { id: 'c1', name: 'weather', response: { sky: 'clear' } };
  await connection.sendContent({ role: 'user', parts: [{ functionResponse: response }] });
  expect(socket(1).sent).toEqual([
    {
      type: 'conversation.item.create',
      item: { type: 'function_call_output', call_id: 'c1', output: '{"sky":"clear"}' },
    },
    ANSWER,
  ]);
  socket(1).receive(audio('AAAA'), words('It is '), words('clear.'), DONE);
  clock.advance(300);
  await settle();
  await connection.close();
  const shown = responses.map(({ content, outputTranscription, turnComplete, ...rest }) => {
    const [part] = content?.parts ?? [];
    if (part?.functionCall) return `call ${part.functionCall.name} ${part.functionCall.id}`;
    if (part?.inlineData) return `audio ${part.inlineData.data}`;
    if (outputTranscription)
      return `${outputTranscription.finished ? 'whole' : 'piece'} ${outputTranscription.text}`;
    if (turnComplete) return liveFactsOf(rest).continues ? 'end, continues' : 'end';
    return rest.usageMetadata ? 'usage' : '?';
  });
  expect(shown).toEqual([
    'call weather c1',
    'usage',
    'end, continues',
    'audio AAAA',
    'piece It is ',
    'piece clear.',
    'usage',
    'whole It is clear.',
    'end',
  ]);
});

test('its connection outlives a socket that fails before the session, and keeps the input', async () => {
  const { clock, connection, settle, socket, provider } = connect([]);
  await connection.sendContent(user('Hello?'));
  socket(1).lose({ code: 1006, reason: '' });
  clock.advance(1000);
  await settle();
  expect(provider.sockets).toHaveLength(2);
  socket(2).receive({ type: 'session.updated' });
  expect(socket(2).sent).toEqual([texts('user', 'Hello?'), ANSWER]);
  await connection.close();
  expect(socket(2).isClosed).toBe(true);
});

test('its own words for a close decide what the close means', async () => {
  const { reading, socket } = connect([]);
  socket(1).lose({ code: 1011, reason: 'insufficient_quota' });
  expect(await reading).toBe('The live model refused the connection (1011): insufficient_quota');
});

test('the live layer imports nothing of a provider', () => {
  const wrong = sourcesUnder('src/models/live').flatMap((file) =>
    importsOf(file)
      .filter(({ specifier }) => /gemini|openai|speech|providers\//.test(specifier))
      .map(({ specifier }) => `${file} imports ${specifier}`),
  );
  expect(wrong).toEqual([]);
});
