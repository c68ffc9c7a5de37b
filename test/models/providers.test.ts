import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { converse } from '../../scripts/fixtures/conversation.ts';
import { SCENARIOS } from '../../scripts/fixtures/scenarios.ts';
import { bedrock } from '../support/providers/bedrock.ts';
import { DIALECTS, FakeProvider, type Fault } from '../support/providers/fake-provider.ts';
import { askWithFaults, provideTool } from '../support/providers/faults.ts';
import { expectedGist, gist, type Provided, play, provide } from '../support/providers/play.ts';

/** One of each mode; all of them are in the long run. */
const SOME = SCENARIOS.filter(({ file }) =>
  ['multiple-payments-deny-approve-sse', 'get_location-approved-bidi-baseline'].includes(file),
);

afterEach(() => vi.restoreAllMocks());

describe.each(DIALECTS.map((dialect) => [dialect.name, dialect] as const))('%s', (name, dialect) => {
  let fake: FakeProvider;
  let server: Provided;
  let tool: Awaited<ReturnType<typeof provideTool>>;

  beforeAll(async () => {
    fake = await FakeProvider.start(dialect);
    server = await provide(fake);
    tool = await provideTool(fake);
  });

  afterAll(async () => {
    await server.close();
    await tool.close();
    await fake.stop();
  });

  it.each(SOME)('has the conversation of the embedded model, over HTTP: $file', async (scenario) => {
    expect(gist(await play(server.url, scenario))).toEqual(expectedGist(scenario));
    expect(fake.refused.splice(0)).toEqual([]);
    expect(server.logged.filter(({ level }) => level !== 'info')).toEqual([]);
  });

  it.each<[Fault, 'sse' | 'bidi']>([
    ['model', 'sse'],
    ['quota', 'bidi'],
    ['cut off', 'sse'],
    ['reset in the middle', 'bidi'],
    ['error in the middle', 'sse'],
  ])(
    '[S7] [E4] a fault is told, runs no tool, and the next message works: %s over %s',
    async (fault, mode) => {
      const { errorText, ran, nextIsAnswered } = await askWithFaults(fake, tool, mode, [fault]);
      expect({ isReported: /^The [^.]+\.$/.test(errorText ?? ''), ran, nextIsAnswered }).toEqual({
        isReported: true,
        ran: 0,
        nextIsAnswered: true,
      });
      expect(fake.refused.splice(0)).toEqual([]);
    },
  );

  it.each(['sse', 'bidi'] as const)(
    '[S17] a busy provider is asked again, and the tool runs once, over %s',
    async (mode) => {
      expect(await askWithFaults(fake, tool, mode, ['rate', undefined, 'overloaded'])).toEqual({
        errorText: null,
        waits: ['rate_limited', 'overloaded'],
        ran: 1,
        calls: [],
        nextIsAnswered: true,
      });
    },
  );

  it('counts its tokens, those of the cache included', async () => {
    const blocks = await play(server.url, {
      mode: 'sse',
      input: { messages: [{ role: 'user', content: 'hello' }] },
      steps: [],
    });
    const { messageMetadata } = JSON.parse(blocks.at(-2)?.slice('data: '.length) ?? '');
    const writes = name === 'anthropic' || name === 'bedrock';
    expect(messageMetadata.usage).toMatchObject({
      input: 20,
      output: 5,
      total: 25,
      cacheWrite: writes ? 2 : null,
    });
  });

  it.each(['sse', 'bidi'] as const)(
    '[E3] its key is in no log, no chunk and no error, over %s',
    async (mode) => {
      const printed: unknown[] = [];
      for (const method of ['log', 'info', 'warn', 'error', 'debug'] as const) {
        vi.spyOn(console, method).mockImplementation((...texts) => void printed.push(texts));
      }
      for (const stream of [process.stdout, process.stderr]) {
        vi.spyOn(stream, 'write').mockImplementation((texts) => {
          printed.push(String(texts));
          return true;
        });
      }
      const key = 'Wrong-Key-abcdef0123456789';
      const wrong = await provide(fake, {}, dialect.environment(fake.url, key));
      const seen: string[] = [];
      try {
        for (const [{ url }, faults] of [
          [wrong, [undefined]],
          [tool, ['key', 'quota', 'rate', 'page', 'error', 'cut off']],
        ] as const) {
          for (const fault of faults) {
            if (fault) fake.faults.push(fault);
            const conversation = await converse(url, mode);
            seen.push(
              ...(await conversation.take({ input: { messages: [{ role: 'user', content: 'hi' }] } })),
            );
            conversation.close();
            seen.push(await (await fetch(`${url}/sessions/${conversation.session}`)).text());
          }
        }
      } finally {
        await wrong.close();
      }
      const everything = [seen, wrong.logged, tool.logged, printed]
        .map((one) => JSON.stringify(one))
        .join('\n');
      expect(seen.join('')).toContain('"type":"error"');
      expect([key, fake.key].filter((secret) => everything.includes(secret))).toEqual([]);
    },
  );
});

it('Bedrock takes requests that are signed with an access key, and their secret is shown to nobody', async () => {
  const secret = 'Signing-Secret-0123456789';
  const fake = await FakeProvider.start({
    ...bedrock,
    keyIn: ({ authorization }) =>
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\//.exec(String(authorization ?? ''))?.[1] ?? '',
    environment: (url, key) => ({
      DUOLOGUE_MODEL: 'bedrock/anthropic.claude-fake',
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: key,
      AWS_SECRET_ACCESS_KEY: secret,
      AWS_ENDPOINT_URL_BEDROCK_RUNTIME: url,
    }),
  });
  const tool = await provideTool(fake);
  expect(await askWithFaults(fake, tool, 'bidi', ['key'])).toMatchObject({ ran: 0, nextIsAnswered: true });
  expect(JSON.stringify(tool.logged)).not.toMatch(new RegExp(`${secret}|${fake.key}`));
  expect(fake.refused).toEqual([]);
  await tool.close();
  await fake.stop();
});
