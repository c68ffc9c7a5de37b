import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Worker } from 'node:worker_threads';
import { LlmAgent } from '@google/adk';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Voice } from '../../../demo/server/voice/voice.ts';
import { withSpeech } from '../../../src/models/index.ts';
import { serve } from '../../../src/server/adapters/node.ts';
import { demo } from '../../browser/support/built.ts';
import { harness } from '../../support/harness.ts';
import { ScriptedModel, streamed } from '../../support/scripted-model.ts';
import { clips, soundOf } from './support/clips.ts';
import { inARoom, speechOf } from './support/quiet.ts';
import { ofType, Speaker } from './support/spoken.ts';
import { VoiceServer } from './support/with-voice.ts';
import { wordErrors, wordsOf } from './support/word-errors.ts';

const voiced = new VoiceServer();

/** What the voice part costs once: fetched from the registry, as a new user's machine does. */
beforeAll(async () => {
  const states = await voiced.start();
  expect(states.map(({ status }) => status).filter((one, index, all) => one !== all[index - 1])).toEqual([
    'absent',
    'fetching',
    'ready',
  ]);
}, 300_000);

afterAll(() => voiced.dispose());

async function speaker(session: string, url = voiced.url): Promise<Speaker> {
  const approver = new Speaker(url, session);
  onTestFinished(() => approver.close());
  return approver.opened();
}

/** The demo's voice in this process, as it was built. */
async function ownVoice(): Promise<Voice> {
  const file = pathToFileURL(resolve(demo, 'dist/server/voice/voice.js')).href;
  const built = (await import(file)) as { Voice: typeof Voice };
  const voice = new built.Voice({ folder: `${voiced.folder}/voice`, registry: 'http://localhost:1/' });
  onTestFinished(() => voice.close());
  return voice;
}

const isOver =
  (count = 1) =>
  (heard: Speaker['heard']) =>
    ofType(heard, 'finish').length >= count;

test('a question that is asked aloud calls the tool and is answered aloud, without a key', async () => {
  const approver = await speaker('weather');
  await approver.say('weather.wav');
  const heard = await approver.until(isOver());
  expect(ofType(heard, 'data-transcript')[0]).toMatchObject({
    data: { role: 'user', text: 'What is the weather in Tokyo?', finished: true },
  });
  expect(ofType(heard, 'tool-input-available')[0]).toMatchObject({
    toolName: 'get_weather',
    input: { location: 'Tokyo' },
  });
  expect(heard.seconds).toBeGreaterThan(2);
});

test('a payment that is asked for aloud opens a card, and nothing is paid', async () => {
  const approver = await speaker('payment');
  await approver.say('payment.wav');
  const heard = await approver.until((now) => ofType(now, 'tool-approval-request').length > 0);
  expect(ofType(heard, 'tool-input-available')[0]).toMatchObject({
    toolName: 'process_payment',
    input: { amount: 50, recipient: 'Alice' },
  });
  expect(ofType(heard, 'tool-output-available')).toEqual([]);
});

test('two people who speak at once are both answered', async () => {
  const both = await Promise.all([speaker('one'), speaker('two')]);
  await Promise.all([both[0].say('weather.wav'), both[1].say('weather-san-francisco.wav')]);
  const heard = await Promise.all(both.map((one) => one.until(isOver())));
  expect(heard.map((one) => ofType(one, 'tool-input-available')[0]?.input)).toEqual([
    { location: 'Tokyo' },
    { location: 'San Francisco' },
  ]);
  expect(heard.every(({ seconds }) => seconds > 2)).toBe(true);
});

/** The samples of a clip. */
function samplesOf(file: string): Int16Array {
  const bytes = soundOf(file);
  return new Int16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

async function* all(...pieces: Int16Array[]): AsyncGenerator<Int16Array, void> {
  yield* pieces;
}

test('words that stay are told while somebody still speaks', async () => {
  const voice = await ownVoice();
  const signal = new AbortController().signal;
  const reported: string[] = [];
  const texts = new Int16Array(16_000 * 5);
  texts.set(samplesOf('weather.wav'));
  const slowly = async function* () {
    for (let at = 0; at < texts.length; at += 16_000) {
      yield texts.subarray(at, at + 16_000);
      // The ears do one job after the other: when this is done, so is the look before.
      await voice.speechToText(all(new Int16Array(4800)), { signal, onPartial: () => undefined });
    }
  };
  const heard = await voice.speechToText(slowly(), { signal, onPartial: (words) => reported.push(words) });
  expect(heard).toBe('What is the weather in Tokyo?');
  expect(reported.length).toBeGreaterThan(0);
  expect(heard.startsWith(reported.join('').trim())).toBe(true);
});

test('whoever gets a long answer does not keep others waiting', async () => {
  const voice = await ownVoice();
  const long = 'One sentence after the other, so that speaking takes a while. '.repeat(400);
  const model = new ScriptedModel([streamed(long), streamed('It is sunny.')]);
  const agent = new LlmAgent({ name: 'assistant', model: withSpeech(model, voice) });
  const served = await serve(harness([], [], { agent }).duologue, { port: 0 });
  onTestFinished(() => served.close());
  const [first, second] = await Promise.all([speaker('long', served.url), speaker('short', served.url)]);
  await first.say('weather.wav');
  await first.until(({ seconds }) => seconds > 0);
  await second.say('weather.wav');
  const heard = await second.until(isOver());
  expect(heard.seconds).toBeGreaterThan(0.5);
  expect(ofType(first.heard, 'finish')).toEqual([]);
});

/** What is misheard of all clips with this quiet around them, in silence and in a room. */
async function misheard(voice: Voice, quietMs: number): Promise<{ errors: number; empty: string[] }> {
  const signal = new AbortController().signal;
  const empty: string[] = [];
  let errors = 0;
  for (const room of [null, -45]) {
    for (const clip of clips()) {
      const sound = inARoom(speechOf(clip), { room, before: quietMs, after: quietMs });
      const heard = await voice.speechToText(all(sound), { signal, onPartial: () => undefined });
      errors += wordErrors(wordsOf(clip.text), wordsOf(heard));
      if (heard === '') empty.push(`${clip.file} (room ${room})`);
    }
  }
  return { errors, empty };
}

test('speech with a second of quiet before and after it is recognised', async () => {
  const voice = await ownVoice();
  const little = await misheard(voice, 300);
  const much = await misheard(voice, 1000);
  expect([...little.empty, ...much.empty]).toEqual([]);
  expect(much.errors).toBeLessThanOrEqual(little.errors * 1.2);
});

test('of 24 clips of several voices at most 15 words in a hundred are misheard', async () => {
  const voice = await ownVoice();
  const signal = new AbortController().signal;
  let [words, errors] = [0, 0];
  const lines: string[] = [];
  for (const { file, voice: by, text } of clips()) {
    const heard = await voice.speechToText(all(samplesOf(file)), { signal, onPartial: () => undefined });
    const wrong = wordErrors(wordsOf(text), wordsOf(heard));
    words += wordsOf(text).length;
    errors += wrong;
    lines.push(`${wrong === 0 ? ' ' : wrong} ${by.padEnd(6)}${text}${wrong === 0 ? '' : `  ->  ${heard}`}`);
  }
  const rate = ((100 * errors) / words).toFixed(1);
  process.stdout.write(`${lines.join('\n')}\nword error rate ${rate} % (${errors} of ${words} words)\n`);
  expect(clips().length).toBeGreaterThanOrEqual(20);
  expect(errors / words).toBeLessThanOrEqual(0.15);
});

test('weights that were spoilt on the disk are told, and voice goes on when they are right again', async () => {
  const voice = await ownVoice();
  const file = `${voiced.folder}/voice/moonshine-js-0.1.29/dist/model/tiny/quantized/decoder_model_merged.onnx`;
  const right = readFileSync(file);
  onTestFinished(() => writeFileSync(file, right));
  const listen = () =>
    voice.speechToText(all(samplesOf('hello.wav')), {
      signal: new AbortController().signal,
      onPartial: () => undefined,
    });
  writeFileSync(file, Buffer.alloc(right.length));
  await expect(listen()).rejects.toThrow();
  writeFileSync(file, right);
  expect(await listen()).toBe('Hello.');
});

test('a thread that is killed while it listens or speaks is told or left out, and the next one goes on', async () => {
  const voice = await ownVoice();
  const threads: Worker[] = [];
  const watch = (thread: Worker) => void threads.push(thread);
  process.on('worker', watch);
  onTestFinished(() => void process.off('worker', watch));
  const long = 'One sentence after the other, so that speaking takes a while. '.repeat(20);
  const model = new ScriptedModel([streamed(long), streamed('It is sunny.')]);
  const agent = new LlmAgent({ name: 'assistant', model: withSpeech(model, voice) });
  const { duologue } = harness([], [], { agent });
  const served = await serve(duologue, { port: 0 });
  onTestFinished(() => served.close());
  const approver = await speaker('killed', served.url);

  const kill = () => Promise.all(threads.splice(0).map((thread) => thread.terminate()));

  await approver.say('weather.wav');
  const reported = async () => {
    await kill();
    return JSON.stringify(approver.heard.chunks);
  };
  await expect.poll(reported).toContain('could not be recognised');

  await approver.say('weather.wav');
  await approver.until(({ seconds }) => seconds > 0.5);
  await kill();
  const heard = await approver.until(isOver());
  const texts = ofType(heard, 'text-delta').map(({ delta }) => delta);
  expect(texts.join('')).toBe(long);

  const before = heard.seconds;
  await approver.say('weather.wav');
  await approver.until((now) => JSON.stringify(ofType(now, 'text-delta')).includes('sunny'));
  await approver.until(({ seconds }) => seconds > before);
});
