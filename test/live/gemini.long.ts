import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCENARIOS } from '../../scripts/fixtures/scenarios.ts';
import { failOnUnhandled } from '../contract/support/unhandled.ts';
import { FakeGeminiLive, type SetupFault } from '../support/gemini-live/fake-gemini-live.ts';
import { askLiveWithFaults } from '../support/gemini-live/faults.ts';
import { FAMILIES, provideLive, provideTools } from '../support/gemini-live/provide.ts';
import type { TurnFault } from '../support/gemini-live/session.ts';
import { NO_SIGNALS, type Quirks } from '../support/gemini-live/strict.ts';
import { bidiFaults } from '../support/providers/checklist.ts';
import { expectedGist, gist, type Provided, play } from '../support/providers/play.ts';
import { TestSocket } from '../support/socket.ts';

failOnUnhandled();

const BIDI = SCENARIOS.filter(({ mode }) => mode === 'bidi');

describe.each(FAMILIES)('a live model of the family $name', ({ name: _, ...options }) => {
  let fake: FakeGeminiLive;
  let usual: Provided;
  let hasty: Provided;

  beforeAll(async () => {
    fake = await FakeGeminiLive.start(options);
    usual = await provideLive(fake);
    hasty = await provideLive(fake, { approvalTimeoutMs: 500 });
  });

  afterAll(async () => {
    await usual.close();
    await hasty.close();
    await fake.stop();
  });

  it.each(BIDI)('[B13] has the conversation of the embedded model, with one end: $file', async (scenario) => {
    const { url } = scenario.approvalTimeoutMs === undefined ? usual : hasty;
    const blocks = await play(url, scenario);
    expect(gist(blocks)).toEqual(expectedGist(scenario));
    expect(bidiFaults(blocks)).toEqual([]);
    expect(fake.refused.splice(0)).toEqual([]);
    const logged = [...usual.logged, ...hasty.logged];
    expect(logged.filter(({ level }) => level !== 'info')).toEqual([]);
  });
});

const KEY = 'The model is not configured: the model provider does not accept the key of this server (401).';
const BROKE_OFF = 'The answer of the model broke off: try again.';
const UNREADABLE = 'The model sent something that cannot be read: try again.';
const QUOTA = 'You exceeded your current quota, please check your plan and billing details.';

/** The error that the user gets for a fault of the setup; null: none, the answer comes. */
const SETUP: [string, SetupFault[], string | null][] = [
  ['refused with 401', [{ status: 401 }], KEY],
  [
    'refused with 403',
    [{ status: 403 }],
    'The model provider does not let the key of this server use this model (403).',
  ],
  [
    'refused with 404',
    [{ status: 404 }],
    'The model provider does not know the model that this server asks for (404).',
  ],
  ['refused with 503 once', [{ status: 503 }], null],
  ['a wrong key', [{ close: 1007, reason: 'API key not valid. Please pass a valid API key.' }], KEY],
  [
    'an unknown field',
    [{ close: 1007, reason: 'Unknown name "x" at \'setup\': Cannot find field.' }],
    'The model provider does not accept the settings with which this server opens a live session.',
  ],
  [
    'no quota',
    [{ close: 1011, reason: QUOTA }],
    'The quota of this server at the model provider is used up.',
  ],
  ['never answered', ['hang'], 'The model did not answer in time: try again.'],
  ['cut off once', ['cut'], null],
  ['cut off always', ['cut', 'cut', 'cut'], 'The model provider cannot be reached: try again in a moment.'],
  ['half a frame of JSON', ['garbage'], UNREADABLE],
];

/** The error that the user gets for a fault in mid-answer: with something to resume from, and without. */
const TURN: [string, TurnFault, string | null, string | null][] = [
  ...[1000, 1001, 1002, 1003, 1006, 1007, 1008, 1009, 1010, 1011].map(
    (code): [string, TurnFault, string | null, string | null] => [
      `closed with ${code}`,
      code === 1006 ? 'cut' : { close: code },
      [1002, 1003, 1007, 1009, 1010].includes(code) ? BROKE_OFF : null,
      BROKE_OFF,
    ],
  ),
  ['1008 aborted', { close: 1008, reason: 'The operation was aborted.' }, null, BROKE_OFF],
  [
    '1011 deadline',
    { close: 1011, reason: 'Deadline expired before operation could complete.' },
    null,
    BROKE_OFF,
  ],
  ['half a frame', 'half a frame', null, BROKE_OFF],
  ['garbage', 'garbage', UNREADABLE, UNREADABLE],
  ['goAway', { goAway: 60 }, null, null],
];

describe.each(FAMILIES)('what goes wrong with the family $name', ({ name: _, ...options }) => {
  const serve = async (quirks: Partial<Quirks>) => {
    const fake = await FakeGeminiLive.start({ ...options, quirks });
    return { fake, server: await provideTools(fake) };
  };

  describe.each(['once', 'never'] as const)('with handles given out %s', (handles) => {
    let fake: FakeGeminiLive;
    let server: Awaited<ReturnType<typeof provideTools>>;

    beforeAll(async () => {
      ({ fake, server } = await serve({ handles }));
    });

    afterAll(async () => {
      await server.close();
      await fake.stop();
    });

    it.each(SETUP)('[S7] [E4] at the setup: %s', async (_what, setup, errorText) => {
      const seen = await askLiveWithFaults(fake, server, { setup });
      expect(seen).toEqual({ errorText, ran: errorText === null ? 1 : 0, ends: 1, nextIsAnswered: true });
      expect(fake.refused.splice(0)).toEqual([]);
    });

    it.each(TURN)(
      '[S7] [E4] in the middle of the answer, after the tool ran once: %s',
      async (_what, fault, on, off) => {
        const seen = await askLiveWithFaults(fake, server, { turn: [undefined, fault] });
        expect(seen).toEqual({
          errorText: handles === 'once' ? on : off,
          ran: 1,
          ends: 1,
          nextIsAnswered: true,
        });
        expect(fake.refused.splice(0)).toEqual([]);
      },
    );
  });

  const QUIRKS: Partial<Quirks>[] = [
    { afterResume: 'is silent' },
    { removedFields: 'hang' },
    { unknownIds: 'ignored' },
    { speaksOfResults: 'one by one' },
    { handles: 'again and again' },
    { transcripts: 'late' },
    { transcripts: 'missing' },
    { transcripts: 'repeated' },
    { usage: 'alone' },
    { usage: 'late' },
    { usage: 'missing' },
    { thinksAloud: true },
    { activitySignals: 'refused' },
  ];

  it.each(QUIRKS)(
    'a service that behaves so is answered once and goes on, also with push-to-talk: %o',
    async (quirks) => {
      const { fake, server } = await serve(quirks);
      try {
        const isSilent = quirks.afterResume === 'is silent';
        const seen = await askLiveWithFaults(fake, server, isSilent ? { turn: [undefined, 'cut'] } : {});
        const isHeard = quirks.transcripts !== 'missing';
        expect(seen).toEqual({
          errorText: isSilent ? BROKE_OFF : null,
          ran: 1,
          ends: 1,
          nextIsAnswered: isHeard,
        });
        const count = server.ran.length;
        const socket = new TestSocket(`${server.url.replace('http', 'ws')}/live`);
        await socket.opened();
        socket.send('audio_control', { action: 'start', detection: 'client' });
        const chunk = Buffer.from('SAY weather in Tokyo').toString('base64');
        socket.send('audio_chunk', { chunk });
        socket.send('audio_control', { action: 'stop', detection: 'client' });
        await socket.done();
        socket.close();
        expect([server.ran.length - count, socket.dones]).toEqual([1, 1]);
        expect(fake.refused).toEqual(quirks.activitySignals === 'refused' ? [NO_SIGNALS] : []);
      } finally {
        await server.close();
        await fake.stop();
      }
    },
  );
});
