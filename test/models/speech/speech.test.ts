import { describe, expect, test } from 'vitest';
import { type SpeechToText, type TextToSpeech, withSpeech } from '../../../src/models/speech/index.ts';
import { partial, ScriptedModel, streamed, text } from '../../support/scripted-model.ts';
import { type LiveRun, lines, TestRun } from '../support/runs.ts';

/** A person says this: loud enough to be noticed, then quiet. */
function loud(ms: number): Int16Array {
  return Int16Array.from({ length: ms * 16 }, (_, i) => Math.round(8000 * Math.sin(i / 5)));
}

function quiet(ms: number): Int16Array {
  return new Int16Array(ms * 16);
}

function hear(live: LiveRun, samples: Int16Array): void {
  const data = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength).toString('base64');
  live.queue.sendRealtime({ mimeType: 'audio/pcm;rate=16000', data });
}

/** Understands the length of the sound. */
const speechToText: SpeechToText = async (sound, { onPartial }) => {
  let length = 0;
  for await (const samples of sound) length += samples.length;
  onPartial('so ');
  return `so many: ${Math.round(length / 1600)}`;
};

/** Speaks a tenth of a second for each word, each sample the number of letters in it. */
const textToSpeech: TextToSpeech = async function* (sentence) {
  for (const word of sentence.split(' ')) yield new Int16Array(2400).fill(word.length);
};

function soundIn(live: LiveRun): number[] {
  return live.events.flatMap((event) =>
    (event.content?.parts ?? []).flatMap(({ inlineData }) =>
      inlineData?.data ? [Buffer.from(inlineData.data, 'base64').readInt16LE(0)] : [],
    ),
  );
}

const MARKED = { realtimeInputConfig: { automaticActivityDetection: { disabled: true } } };

describe('a model with ears', () => {
  test('what is said between two marks is understood, answered and spoken sentence by sentence', async () => {
    const model = new ScriptedModel([
      [partial('It is sunny. '), partial('Take a hat'), text('It is sunny. Take a hat')],
    ]);
    const live = await new TestRun(withSpeech(model, { speechToText, textToSpeech })).live(MARKED);
    live.queue.sendActivityStart();
    hear(live, quiet(500));
    hear(live, loud(500));
    live.queue.sendActivityEnd();
    await live.until((run) => run.seen.some((event) => event.turnComplete && !event.isIdle));
    await live.close();
    expect(live.error).toBeUndefined();
    expect(live.seen).toContainEqual({ inputTranscription: { text: 'so ', finished: false }, partial: true });
    expect(live.seen).toContainEqual({
      inputTranscription: { text: 'so many: 10', finished: true },
      partial: false,
    });
    expect(lines(model.lastContents)).toEqual(['user: so many: 10']);
    expect(soundIn(live)).toEqual([2, 2, 6, 4, 1, 3]);
    expect(live.seen.at(-1)).toEqual({ turnComplete: true });
  });

  test('without marks loudness tells where something is said, the moment before it included', async () => {
    const model = new ScriptedModel([streamed('Yes.'), streamed('No.')]);
    const live = await new TestRun(withSpeech(model, { speechToText })).live();
    const say = (ms: number) => {
      for (let at = 0; at < 1000; at += 20) hear(live, quiet(20));
      for (let at = 0; at < ms; at += 20) hear(live, loud(20));
      for (let at = 0; at < 1000; at += 20) hear(live, quiet(20));
    };
    say(600);
    await live.until((run) => run.seen.some((event) => event.turnComplete && !event.isIdle));
    say(200);
    await live.until((run) => run.seen.filter((event) => event.turnComplete && !event.isIdle).length === 2);
    await live.close();
    const heard = lines(model.lastContents).flatMap((line) => /so many: (\d+)/.exec(line)?.[1] ?? []);
    // In tenths of a second: 0.34 from before, the speech, and the 0.7 after which silence is believed.
    expect(heard.map(Number)).toEqual([16, 12]);
  });

  test('without marks, whoever stops the model has not begun to speak, and is heard later', async () => {
    const model = new ScriptedModel([streamed('Typed.'), streamed('Heard.')]);
    const live = await new TestRun(withSpeech(model, { speechToText })).live();
    live.queue.sendActivityStart();
    for (let at = 0; at < 2000; at += 20) hear(live, quiet(20));
    live.say('hi');
    await live.until((run) => run.seen.some((event) => event.turnComplete && !event.isIdle));
    for (let at = 0; at < 600; at += 20) hear(live, loud(20));
    for (let at = 0; at < 1000; at += 20) hear(live, quiet(20));
    await live.until((run) => JSON.stringify(run.seen).includes('Heard.'));
    await live.close();
    // In tenths of a second: not the two seconds of silence before.
    expect(lines(model.lastContents).at(-1)).toBe('user: so many: 16');
  });

  test('who types is answered in writing', async () => {
    const model = new ScriptedModel([streamed('Hello there.')]);
    const live = await new TestRun(withSpeech(model, { speechToText, textToSpeech })).live();
    live.say('hi');
    await live.until((run) => run.turns === 1);
    await live.close();
    expect(soundIn(live)).toEqual([]);
  });

  test('who begins to speak stops the model and its voice at once', async () => {
    let aborted: boolean | undefined;
    const model = new ScriptedModel([
      async function* (_request, _stream, signal) {
        yield partial('One two three. Four five six. ');
        await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
        aborted = signal?.aborted;
      },
      streamed('Fine.'),
    ]);
    let began = () => {};
    const first = new Promise<void>((resolve) => {
      began = resolve;
    });
    // The first sentence is never spoken to its end.
    const endless: TextToSpeech = async function* (sentence, { signal }) {
      yield new Int16Array(2400).fill(sentence.length);
      if (sentence.startsWith('Fine')) return;
      began();
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      yield new Int16Array(2400).fill(99);
    };
    const live = await new TestRun(withSpeech(model, { speechToText, textToSpeech: endless })).live(MARKED);
    const say = () => {
      live.queue.sendActivityStart();
      hear(live, loud(300));
      live.queue.sendActivityEnd();
    };
    say();
    await first;
    say();
    await live.until(
      (run) => run.seen.filter((event) => event.inputTranscription && !event.partial).length === 2,
    );
    await live.until((run) => run.seen.at(-1)?.turnComplete === true && model.left === 0);
    await live.close();
    expect(aborted).toBe(true);
    expect(soundIn(live)).toEqual(['One two three.'.length, 'Fine.'.length]);
    expect(live.seen).toContainEqual({ interrupted: true });
  });

  test('a recogniser that fails is told in words, and typing goes on', async () => {
    const model = new ScriptedModel([streamed('Typed.')]);
    const deaf: SpeechToText = async () => {
      throw new Error('its weights are missing');
    };
    const live = await new TestRun(withSpeech(model, { speechToText: deaf, textToSpeech })).live(MARKED);
    live.queue.sendActivityStart();
    hear(live, loud(300));
    live.queue.sendActivityEnd();
    await live.until((run) => run.events.some((event) => event.errorCode));
    live.say('hi');
    await live.until((run) => run.seen.some((event) => JSON.stringify(event).includes('Typed.')));
    await live.close();
    expect(live.seen).toContainEqual({
      errorCode: 'RECOGNISER_ERROR',
      errorMessage: 'The speech could not be recognised: its weights are missing',
    });
  });

  test('words that were told of something that is not understood in the end are taken back', async () => {
    const model = new ScriptedModel([]);
    const broken: SpeechToText = async (sound, { onPartial }) => {
      for await (const _ of sound) onPartial('so ');
      throw new Error('it broke');
    };
    const live = await new TestRun(withSpeech(model, { speechToText: broken, textToSpeech })).live(MARKED);
    live.queue.sendActivityStart();
    hear(live, loud(300));
    live.queue.sendActivityEnd();
    await live.until((run) => run.events.some((event) => event.errorCode));
    await live.close();
    const reported = live.seen.filter((event) => event.inputTranscription || event.errorCode);
    expect(reported).toEqual([
      { inputTranscription: { text: 'so ', finished: false }, partial: true },
      { inputTranscription: { text: '', finished: true }, partial: true },
      expect.objectContaining({ errorCode: 'RECOGNISER_ERROR' }),
    ]);
  });

  test('what is said is understood one after the other, and what would wait for too long is told', async () => {
    const model = new ScriptedModel([streamed('Yes.'), streamed('Yes.'), streamed('Yes.'), streamed('Yes.')]);
    const begun: (() => void)[] = [];
    let most = 0;
    const slow: SpeechToText = async (sound) => {
      for await (const _ of sound);
      await new Promise<void>((resolve) => {
        begun.push(resolve);
        most = Math.max(most, begun.length);
      });
      begun.shift();
      return 'so';
    };
    const live = await new TestRun(withSpeech(model, { speechToText: slow })).live(MARKED);
    for (let i = 0; i < 5; i++) {
      live.queue.sendActivityStart();
      hear(live, loud(300));
      live.queue.sendActivityEnd();
    }
    await live.until((run) => run.events.some((event) => event.errorCode));
    const understood = () => live.seen.filter((event) => event.inputTranscription && !event.partial).length;
    const look = () => {
      begun[0]?.();
      return understood();
    };
    await expect.poll(look).toBe(4);
    await live.close();
    expect(live.seen).toContainEqual({
      errorCode: 'RECOGNISER_ERROR',
      errorMessage:
        'The speech could not be recognised: 4 earlier utterances are not recognised yet. Wait a moment and speak again.',
    });
    expect([most, understood()]).toEqual([1, 4]);
  });

  test('a voice that fails leaves the text whole', async () => {
    const model = new ScriptedModel([streamed('Hello there.')]);
    const errors: unknown[] = [];
    const mute: TextToSpeech = () => {
      throw new Error('no voice');
    };
    const spoken = withSpeech(model, {
      speechToText,
      textToSpeech: mute,
      onSpeechError: (error) => errors.push(error),
    });
    const live = await new TestRun(spoken).live(MARKED);
    live.queue.sendActivityStart();
    hear(live, loud(300));
    live.queue.sendActivityEnd();
    await live.until((run) => run.seen.some((event) => event.turnComplete && !event.isIdle));
    await live.close();
    expect(errors).toEqual([new Error('no voice')]);
    expect(live.seen).toContainEqual(text('Hello there.'));
  });

  test('silence between two marks is told, and asks nothing of the model', async () => {
    const model = new ScriptedModel([streamed('Typed.')]);
    const live = await new TestRun(withSpeech(model, { speechToText: async () => ' ' })).live(MARKED);
    live.queue.sendActivityStart();
    hear(live, quiet(300));
    live.queue.sendActivityEnd();
    live.say('hi');
    await live.until((run) => run.seen.some((event) => event.turnComplete && !event.isIdle));
    await live.close();
    expect(lines(model.lastContents)).toEqual(['user: hi']);
    expect(live.seen).toContainEqual({ inputTranscription: { text: '', finished: true }, partial: true });
  });

  test('the newest picture of a camera goes with what is said next', async () => {
    const model = new ScriptedModel([streamed('A cat.'), streamed('Nothing new.')]);
    const live = await new TestRun(withSpeech(model, { speechToText })).live();
    live.queue.sendRealtime({ mimeType: 'image/jpeg', data: 'AAAA' });
    live.queue.sendRealtime({ mimeType: 'image/jpeg', data: 'BBBB' });
    live.say('what do you see');
    await live.until((run) => run.turns === 1);
    expect(model.lastContents.at(-1)?.parts?.[0]).toEqual({
      inlineData: { mimeType: 'image/jpeg', data: 'BBBB' },
    });
    live.say('and now');
    await live.until((run) => run.turns === 2);
    await live.close();
    expect(model.lastContents.at(-1)?.parts).toEqual([{ text: 'and now' }]);
  });
});
