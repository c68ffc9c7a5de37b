import { BaseLlm, type BaseLlmConnection, LlmAgent, type LlmResponse } from '@google/adk';
import { LoadAPIKeyError } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fromAiSdk } from '../../src/models/index.ts';
import type { Chunk } from '../../src/protocol/index.ts';
import { harness, say } from '../support/harness.ts';
import { live } from '../support/live.ts';

const KEY = `sk-${'1234567890'.repeat(3)}`;

/** A model whose provider does not accept its key. */
class WrongKey extends BaseLlm {
  constructor() {
    super({ model: 'wrong-key' });
  }
  override async *generateContentAsync(): AsyncGenerator<LlmResponse, void> {
    yield* [];
    throw Object.assign(new Error(`Incorrect API key provided: ${KEY}.`), { status: 401 });
  }
  override connect(): Promise<BaseLlmConnection> {
    throw new Error('unused');
  }
}

/** A model of the AI SDK whose provider finds no key. */
const withoutKey = new MockLanguageModelV3({
  doStream: async () => {
    throw new LoadAPIKeyError({
      message:
        "OpenAI API key is missing. Pass it using the 'apiKey' parameter or the OPENAI_API_KEY environment variable.",
    });
  },
});

const NO_KEY = 'The model is not configured: this server has no key for the model provider.';
const WRONG = 'The model is not configured: the model provider does not accept the key of this server (401).';
const UNKNOWN = 'The model provider does not know the model that this server asks for (404).';

const LIVE_ONLY = 'a Gemini Live model by name, without a key';

const MODELS: [string, () => string | BaseLlm, string][] = [
  ['a Gemini model by name, without a key', () => 'gemini-2.5-flash', NO_KEY],
  [LIVE_ONLY, () => 'gemini-live-2.5-flash', NO_KEY],
  ['a model of the AI SDK without a key', () => fromAiSdk(withoutKey), NO_KEY],
  ['a key that the provider does not accept', () => new WrongKey(), WRONG],
  ['a name that no provider has', () => 'gpt-of-nobody', UNKNOWN],
];

const WAYS = ['SSE', 'live', 'turn'] as const;

/** A model that can only be used live has no cell for `turn`: `createDuologue` refuses it there (`test/adk/driver.test.ts`). */
const CELLS = MODELS.flatMap(([name, model, sentence]) =>
  WAYS.filter((way) => name !== LIVE_ONLY || way !== 'turn').map(
    (way) => [name, way, model, sentence] as const,
  ),
);

beforeEach(() => {
  for (const name of ['GOOGLE_GENAI_API_KEY', 'GOOGLE_API_KEY', 'GEMINI_API_KEY']) {
    vi.stubEnv(name, undefined);
  }
});
afterEach(() => {
  vi.unstubAllEnvs();
});

describe('a model that is not configured', () => {
  it.each(CELLS)(
    '[E7] [E7a] is reported to the person, with a code, and to the log: %s, %s',
    async (_, way, model, text) => {
      const logged: unknown[] = [];
      const logger = {
        info() {},
        warn() {},
        error: (message: string, fields: unknown) => logged.push([message, fields]),
      };
      const agent = new LlmAgent({ name: 'assistant', model: model() });
      let chunks: readonly Chunk[];
      if (way === 'SSE') ({ chunks } = await harness([], [], { agent, logger }).post(say('Hello')));
      else {
        const { connect } = await live([], [], { agent, logger, driver: way });
        const socket = await connect();
        socket.say('Hello');
        await socket.done();
        socket.close();
        chunks = socket.received.flatMap((one) => (one.kind === 'chunk' ? [one.chunk] : []));
      }
      expect(chunks.filter(({ type }) => type === 'error')).toEqual([{ type: 'error', errorText: text }]);
      expect(chunks.filter(({ type }) => type === 'data-error')).toEqual([
        {
          type: 'data-error',
          data: { code: 'model_not_configured', message: text, retryable: false },
          transient: true,
        },
      ]);
      expect(logged).toEqual([
        [
          'the agent failed: see code and message',
          expect.objectContaining({ message: expect.stringMatching(/key|not found/i) }),
        ],
      ]);
      expect(JSON.stringify([chunks, logged])).not.toContain(KEY);
    },
  );
});
