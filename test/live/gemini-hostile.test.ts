import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failOnUnhandled } from '../contract/support/unhandled.ts';
import { FakeGeminiLive } from '../support/gemini-live/fake-gemini-live.ts';
import { askLiveWithFaults } from '../support/gemini-live/faults.ts';
import { FAMILIES, provideTools } from '../support/gemini-live/provide.ts';

failOnUnhandled();

type Message = Record<string, unknown>;

const UNREADABLE = 'The model sent something that cannot be read: try again.';
const content = (serverContent: Message): Message => ({ serverContent });
const part = (one: unknown): Message => content({ modelTurn: { parts: [one] } });
const sound = (data: unknown, mimeType: unknown = 'audio/pcm;rate=24000') =>
  part({ inlineData: { mimeType, data } });
const calls = (...functionCalls: unknown[]): Message => ({ toolCall: { functionCalls } });
const weather = (id: string) => ({ id, name: 'get_weather', args: { location: 'Tokyo' } });
const many = (count: number, message: Message) => Array.from({ length: count }, () => message);
/** What a broken or hostile service sends in the middle of an answer, after a call that was answered; and the error that the user gets. */
const HOSTILE: [string, Message[], string | null][] = [
  ['calls taken back that nobody made', [{ toolCallCancellation: { ids: ['nobody', ''] } }], null],
  [
    'a thousand unknown calls taken back',
    many(20, { toolCallCancellation: { ids: Array.from({ length: 100 }, (_, i) => `${i}`) } }),
    null,
  ],
  [
    'a call behind its cancellation',
    [{ toolCallCancellation: { ids: ['late'] } }, calls(weather('late'))],
    null,
  ],
  ['the same call under many ids', Array.from({ length: 20 }, (_, i) => calls(weather(`id-${i}`))), null],
  ['the same call under one id', many(20, calls(weather('one'))), null],
  [
    'two ends and two beginnings',
    [{ setupComplete: {} }, content({ generationComplete: true }), { setupComplete: {} }],
    null,
  ],
  [
    'counts without end',
    many(500, { usageMetadata: { promptTokenCount: -1, responseTokenCount: 'many', totalTokenCount: null } }),
    null,
  ],
  ['sound that is no base64', [sound('***'), sound('A'), sound('')], null],
  ['sound without a rate', [sound('AAAA', 'audio/pcm;rate=0')], UNREADABLE],
  ['sound that is a number', [sound(7)], UNREADABLE],
  ['words that are none', [part({ text: { toString: 1 } })], UNREADABLE],
  ['a part that is none', [part(null)], UNREADABLE],
  ['a transcript that is none', [content({ outputTranscription: { text: 7 } })], UNREADABLE],
  ['a call without a name', [calls({ id: 'x' })], UNREADABLE],
  [
    'a call with arguments that are a list',
    [calls({ id: 'x', name: 'get_weather', args: ['Tokyo'] })],
    UNREADABLE,
  ],
  ['a handle that is an object', [{ sessionResumptionUpdate: { newHandle: {} } }], UNREADABLE],
  ['that it will leave, a thousand times', many(1000, { goAway: { timeLeft: '60s' } }), null],
  ['that it leaves at no time', [{ goAway: { timeLeft: 'NaNs' } }, { goAway: {} }], null],
];

describe.each(FAMILIES)('a hostile service of the family $name', ({ name: _, ...options }) => {
  let fake: FakeGeminiLive;
  let server: Awaited<ReturnType<typeof provideTools>>;

  beforeAll(async () => {
    fake = await FakeGeminiLive.start({ ...options, quirks: { unknownIds: 'ignored' } });
    server = await provideTools(fake);
  });

  afterAll(async () => {
    await server.close();
    await fake.stop();
  });

  it.each(HOSTILE)(
    '[S7] [E4] that sends %s ends nothing but what it says',
    async (_what, tells, errorText) => {
      const seen = await askLiveWithFaults(fake, server, { turn: [undefined, { tells }] });
      expect(seen).toEqual({ errorText, ran: 1, ends: 1, nextIsAnswered: true });
      fake.refused.length = 0;
    },
  );
});
