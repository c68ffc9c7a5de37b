import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCENARIOS } from '../../scripts/fixtures/scenarios.ts';
import { fastTimer } from '../support/fast-timer.ts';
import { DIALECTS, FakeProvider, type Fault } from '../support/providers/fake-provider.ts';
import { askWithFaults, type FaultResult, provideTool } from '../support/providers/faults.ts';
import { expectedGist, gist, type Provided, play, provide } from '../support/providers/play.ts';

const everyone = describe.each(DIALECTS.map((dialect) => [dialect.name, dialect] as const));

everyone('%s', (_name, dialect) => {
  let fake: FakeProvider;
  let usual: Provided;
  let hasty: Provided;

  beforeAll(async () => {
    fake = await FakeProvider.start(dialect);
    usual = await provide(fake);
    hasty = await provide(fake, { approvalTimeoutMs: 500 });
  });

  afterAll(async () => {
    await usual.close();
    await hasty.close();
    await fake.stop();
  });

  it.each(SCENARIOS)('has the conversation of the embedded model, over HTTP: $file', async (scenario) => {
    const { url } = scenario.approvalTimeoutMs === undefined ? usual : hasty;
    const asked = fake.asked.length;
    expect(gist(await play(url, scenario))).toEqual(expectedGist(scenario));
    expect(fake.refused.splice(0)).toEqual([]);
    expect(fake.asked.length).toBeGreaterThan(asked);
    const logged = [...usual.logged, ...hasty.logged];
    expect(logged.filter(({ level }) => level !== 'info')).toEqual([]);
  });
});

const BUSY = (code: number) =>
  `The model provider has a fault or is overloaded (${code}): try again in a moment.`;
const BROKE_OFF = 'The answer of the model broke off: try again.';
const LATE = 'The model did not answer in time: try again.';
const UNREADABLE = 'The arguments of the call could not be read';

/** What the person sees of a fault of the first model call; otherwise the answer comes as if nothing had been. */
const TABLE: [Fault, Partial<FaultResult> | ((provider: string) => Partial<FaultResult>)][] = [
  [
    'key',
    (provider) => ({
      errorText:
        provider === 'bedrock'
          ? 'The model provider does not let the key of this server use this model (403).'
          : 'The model is not configured: the model provider does not accept the key of this server (401).',
    }),
  ],
  ['model', { errorText: 'The model provider does not know the model that this server asks for (404).' }],
  ['quota', { errorText: 'The quota of this server at the model provider is used up.' }],
  ['rate', { waits: ['rate_limited'] }],
  ['overloaded', { waits: ['overloaded'] }],
  ['page', { waits: ['overloaded'] }],
  ['reset', { waits: ['unreachable'] }],
  ['silence', { waits: ['silent'] }],
  ['error', { waits: ['overloaded'] }],
  [
    'error in the middle',
    (provider) => ({
      errorText: BUSY(provider === 'anthropic' ? 529 : provider === 'gemini' ? 503 : 500),
    }),
  ],
  ['reset in the middle', { errorText: BROKE_OFF }],
  ['silence in the middle', { errorText: LATE }],
  ['cut off', { errorText: BROKE_OFF }],
  [
    'broken arguments',
    (provider) =>
      provider === 'gemini'
        ? { errorText: 'The model stopped: malformed function call.' }
        : { calls: [UNREADABLE] },
  ],
  ['cut arguments', { calls: [UNREADABLE] }],
];

everyone('what goes wrong at %s', (name, dialect) => {
  let fake: FakeProvider;
  let server: Awaited<ReturnType<typeof provideTool>>;

  beforeAll(async () => {
    fake = await FakeProvider.start(dialect);
    const { now: elapsed, after } = fastTimer(1);
    const clock = { now: Date.now, elapsed, after };
    const retryPolicy = { maxWaitMs: 1, firstTokenMs: 1000, nextTokenMs: 1000 };
    server = await provideTool(fake, { clock, retryPolicy });
  });

  afterAll(async () => {
    await server.close();
    await fake.stop();
  });

  describe.each(['sse', 'bidi'] as const)('over %s', (mode) => {
    it.each(TABLE)('[S7] [S17] [E4] before the tool: %s', async (fault, expected) => {
      const seen = typeof expected === 'function' ? expected(name) : expected;
      const isAnswered = seen.errorText === undefined && seen.calls === undefined;
      expect(await askWithFaults(fake, server, mode, [fault])).toEqual({
        errorText: null,
        waits: [],
        calls: [],
        ran: isAnswered ? 1 : 0,
        nextIsAnswered: true,
        ...seen,
      });
      expect(fake.refused.splice(0)).toEqual([]);
    });

    it.each(TABLE.filter(([fault]) => !fault.endsWith('arguments')))(
      '[S7] [S17] [E4] after the tool, which ran once: %s',
      async (fault, expected) => {
        const seen = typeof expected === 'function' ? expected(name) : expected;
        expect(await askWithFaults(fake, server, mode, [undefined, fault])).toEqual({
          errorText: null,
          waits: [],
          calls: [],
          ran: 1,
          nextIsAnswered: true,
          ...seen,
        });
        expect(fake.refused.splice(0)).toEqual([]);
      },
    );
  });
});
