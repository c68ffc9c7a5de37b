import { readFileSync } from 'node:fs';
import { MockLanguageModelV3 } from 'ai/test';
import { describe, expect, test } from 'vitest';
import { chooseModel } from '../../src/models/choose.ts';
import { EmbeddedModel } from '../../src/models/embedded/index.ts';
import { DuologueGemini } from '../../src/models/gemini/index.ts';

/** The packages of the providers, and the settings each was given. */
function packages() {
  const given: unknown[] = [];
  const made = (name: string) => (settings: object) => {
    const model = (api: string) => (modelId: string) => {
      given.push({ [name]: api, ...settings });
      return new MockLanguageModelV3({ modelId });
    };
    return Object.assign(model('default'), { chat: model('chat'), responses: model('responses') });
  };
  const names = ['createOpenAI', 'createAnthropic', 'createAmazonBedrock', 'createOpenAICompatible'];
  const all = Object.fromEntries(names.map((name) => [name, made(name)]));
  return { given, load: async () => all };
}

async function names(env: Record<string, string>, live?: boolean) {
  const {
    turn,
    live: spoken,
    why,
  } = await chooseModel(env, {
    ...packages(),
    ...(live === undefined ? {} : { live }),
  });
  return [turn.model, spoken.model, why];
}

const GEMINI = ['gemini-3.8-flash', 'gemini-3.8-live'];

describe('the model that is chosen', () => {
  test.each<[Record<string, string>, string[]]>([
    [{}, ['duologue-embedded', 'duologue-embedded', 'No key of a model provider is set.']],
    [{ GOOGLE_API_KEY: 'k' }, [...GEMINI, 'GOOGLE_API_KEY is set.']],
    [{ GEMINI_API_KEY: 'k', OPENAI_API_KEY: 'k' }, [...GEMINI, 'GEMINI_API_KEY is set.']],
    [{ OPENAI_API_KEY: 'k' }, ['gpt-6-luna', 'gpt-6-luna', 'OPENAI_API_KEY is set.']],
    [{ ANTHROPIC_API_KEY: 'k' }, ['claude-haiku-5-5', 'claude-haiku-5-5', 'ANTHROPIC_API_KEY is set.']],
    [
      { DUOLOGUE_MODEL: 'embedded', GOOGLE_API_KEY: 'k' },
      ['duologue-embedded', 'duologue-embedded', 'DUOLOGUE_MODEL names it.'],
    ],
    [
      { DUOLOGUE_MODEL: 'gemini-2.5-pro', GOOGLE_API_KEY: 'k' },
      ['gemini-2.5-pro', 'gemini-2.5-pro', 'DUOLOGUE_MODEL names it.'],
    ],
    [
      { DUOLOGUE_MODEL: 'google/gemini-2.5-pro, gemini-live-2.5-flash-preview', GOOGLE_API_KEY: 'k' },
      ['gemini-2.5-pro', 'gemini-live-2.5-flash-preview', 'DUOLOGUE_MODEL names it.'],
    ],
    [
      { DUOLOGUE_MODEL: 'gemini-live-2.5-flash-preview', GOOGLE_API_KEY: 'k' },
      ['gemini-3.8-flash', 'gemini-live-2.5-flash-preview', 'DUOLOGUE_MODEL names it.'],
    ],
    [
      { DUOLOGUE_MODEL: 'openai/gpt-6-sol', OPENAI_API_KEY: 'k', GOOGLE_API_KEY: 'k' },
      ['gpt-6-sol', 'gpt-6-sol', 'DUOLOGUE_MODEL names it.'],
    ],
  ])('with %j', async (env, chosen) => {
    expect(await names(env)).toEqual(chosen);
  });

  test.each([
    [{ DUOLOGUE_MODEL: 'vertex', GOOGLE_CLOUD_PROJECT: 'p' }, 'vertex/gemini-3.8-flash'],
    [{ DUOLOGUE_MODEL: 'anthropic', ANTHROPIC_API_KEY: 'k' }, 'anthropic/claude-haiku-5-5'],
    [
      { DUOLOGUE_MODEL: 'openai, anthropic', OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k' },
      'openai/gpt-6-luna, live anthropic/claude-haiku-5-5',
    ],
  ])('has a whole name where only the provider was named: %j', async (env, name) => {
    expect((await chooseModel(env, packages())).name).toBe(name);
  });

  test('has no other one for live runs when none is wanted', async () => {
    expect((await names({ GOOGLE_API_KEY: 'k' }, false)).slice(0, 2)).toEqual([
      'gemini-3.8-flash',
      'gemini-3.8-flash',
    ]);
  });

  test('is told with its name and the way to another', async () => {
    const chosen = await chooseModel({ GOOGLE_API_KEY: 'k' });
    expect(chosen.name).toBe('gemini-3.8-flash, live gemini-3.8-live');
    expect(chosen.howToChange).toContain('DUOLOGUE_MODEL');
    expect(chosen.turn).toBeInstanceOf(DuologueGemini);
    expect(chosen.model.model).toBe('gemini-3.8-flash');
    const embedded = await chooseModel({});
    expect([embedded.name, embedded.model === embedded.turn]).toEqual(['embedded', true]);
    expect(embedded.model).toBeInstanceOf(EmbeddedModel);
  });

  test.each<[Record<string, string>, unknown]>([
    [{ OPENAI_API_KEY: 'secret' }, { createOpenAI: 'responses', apiKey: 'secret' }],
    [
      { OPENAI_API_KEY: 'secret', OPENAI_BASE_URL: 'http://proxy/v1', DUOLOGUE_OPENAI_API: 'chat' },
      { createOpenAI: 'chat', apiKey: 'secret', baseURL: 'http://proxy/v1' },
    ],
    [{ ANTHROPIC_API_KEY: 'secret' }, { createAnthropic: 'default', apiKey: 'secret' }],
    [
      { DUOLOGUE_MODEL: 'bedrock/x', AWS_REGION: 'eu-west-1', AWS_BEARER_TOKEN_BEDROCK: 'secret' },
      { createAmazonBedrock: 'default', region: 'eu-west-1', apiKey: 'secret' },
    ],
    [
      {
        DUOLOGUE_MODEL: 'bedrock',
        AWS_DEFAULT_REGION: 'eu-west-1',
        AWS_ACCESS_KEY_ID: 'id',
        AWS_SECRET_ACCESS_KEY: 'secret',
        AWS_SESSION_TOKEN: 'session',
      },
      {
        createAmazonBedrock: 'default',
        region: 'eu-west-1',
        accessKeyId: 'id',
        secretAccessKey: 'secret',
        sessionToken: 'session',
      },
    ],
    [
      { DUOLOGUE_MODEL: 'compatible/llama4', DUOLOGUE_COMPATIBLE_URL: 'http://localhost:11434/v1' },
      {
        createOpenAICompatible: 'default',
        baseURL: 'http://localhost:11434/v1',
        name: 'compatible',
        includeUsage: true,
      },
    ],
    [
      {
        DUOLOGUE_MODEL: 'compatible/org/model',
        DUOLOGUE_COMPATIBLE_URL: 'http://localhost:8000/v1',
        DUOLOGUE_COMPATIBLE_KEY: 'secret',
        DUOLOGUE_OPENAI_API: 'responses',
      },
      {
        createOpenAI: 'responses',
        baseURL: 'http://localhost:8000/v1',
        name: 'compatible',
        apiKey: 'secret',
      },
    ],
  ])('is made from the environment it was chosen from: %j', async (env, settings) => {
    const { given, load } = packages();
    await chooseModel(env, { load });
    expect(given).toEqual([settings]);
  });

  test.each<[Record<string, string>, string[]]>([
    [{ DUOLOGUE_MODEL: 'vertex/gemini-4-argon' }, ['gemini-4-argon', 'gemini-4-argon']],
    [{ DUOLOGUE_MODEL: 'vertex' }, ['gemini-3.8-flash', 'gemini-3.8-flash']],
    [{ GOOGLE_GENAI_USE_VERTEXAI: 'true' }, ['gemini-3.8-flash', 'gemini-live-2.5-flash-native-audio']],
    [
      { DUOLOGUE_MODEL: 'gemini-4-argon', GOOGLE_GENAI_USE_VERTEXAI: '1' },
      ['gemini-4-argon', 'gemini-4-argon'],
    ],
    [
      { DUOLOGUE_MODEL: 'vertex/gemini-live-2.5-flash-native-audio' },
      ['gemini-3.8-flash', 'gemini-live-2.5-flash-native-audio'],
    ],
  ])('is on Vertex with %j', async (env, [turn, live]) => {
    const chosen = await chooseModel({ ...env, GOOGLE_CLOUD_PROJECT: 'p' });
    for (const [model, name] of [
      [chosen.turn, turn],
      [chosen.live, live],
    ]) {
      // There is no live model in all the world.
      const location = String(name).includes('live') ? 'us-central1' : 'global';
      expect(model).toBeInstanceOf(DuologueGemini);
      expect(model).toMatchObject({ model: name, vertexai: true, project: 'p', location });
    }
  });

  test('is in the region that was named, also when it is live', async () => {
    const env = { GOOGLE_GENAI_USE_VERTEXAI: '1', GOOGLE_CLOUD_PROJECT: 'p' };
    const { turn, live } = await chooseModel({ ...env, GOOGLE_CLOUD_LOCATION: 'europe-west4' });
    expect([turn, live]).toMatchObject([{ location: 'europe-west4' }, { location: 'europe-west4' }]);
  });
});

describe('a choice that cannot work says what to do', () => {
  test.each<[Record<string, string>, string]>([
    [{ DUOLOGUE_MODEL: 'gemini-2.5-pro' }, 'The model gemini-2.5-pro needs GOOGLE_API_KEY to be set.'],
    [{ DUOLOGUE_MODEL: 'openai/gpt-6-sol' }, 'The model openai/gpt-6-sol needs OPENAI_API_KEY to be set.'],
    [
      { GOOGLE_GENAI_USE_VERTEXAI: '1' },
      'The model vertex/gemini-3.8-flash needs GOOGLE_CLOUD_PROJECT to be set.',
    ],
    [{ DUOLOGUE_MODEL: 'bedrock/x' }, 'The model bedrock/x needs AWS_REGION to be set.'],
    [
      { DUOLOGUE_MODEL: 'bedrock/x', AWS_REGION: 'r' },
      'The model bedrock/x needs AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, to be set.',
    ],
    [{ DUOLOGUE_MODEL: 'compatible/x' }, 'The model compatible/x needs DUOLOGUE_COMPATIBLE_URL to be set.'],
    [{ DUOLOGUE_MODEL: 'compatible' }, 'DUOLOGUE_MODEL names no model: write compatible/ and the name'],
    [
      { DUOLOGUE_MODEL: 'compatible/x', DUOLOGUE_COMPATIBLE_URL: 'localhost' },
      'DUOLOGUE_COMPATIBLE_URL is "localhost", which is not an address such as',
    ],
    [
      { OPENAI_API_KEY: 'k', DUOLOGUE_OPENAI_API: 'soap' },
      'DUOLOGUE_OPENAI_API must be chat or responses, not "soap".',
    ],
    [{ DUOLOGUE_MODEL: 'constructor/x' }, 'There is no model "constructor/x". Set DUOLOGUE_MODEL to'],
    [{ DUOLOGUE_MODEL: 'nonsense' }, 'There is no model "nonsense". Set DUOLOGUE_MODEL to'],
  ])('with %j', async (env, message) => {
    await expect(chooseModel(env)).rejects.toThrow(message);
  });

  test.each([
    ['OPENAI_API_KEY', /^The model openai\/\S+ needs a package: npm install @ai-sdk\/openai@3\.\d+\.\d+$/],
    [
      'ANTHROPIC_API_KEY',
      /^The model anthropic\/\S+ needs a package: npm install @ai-sdk\/anthropic@3\.\d+\.\d+$/,
    ],
  ])('with %s but without the package', async (key, message) => {
    const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
    await expect(chooseModel({ [key]: 'k' }, { load: () => Promise.reject(missing) })).rejects.toThrow(
      message,
    );
  });

  test('with a package that fails to load, its own words', async () => {
    const broken = () => Promise.reject(new Error('broken package'));
    await expect(chooseModel({ OPENAI_API_KEY: 'k' }, { load: broken })).rejects.toThrow('broken package');
  });
});

test('the versions it names for missing packages are those that the demo brings', async () => {
  const { dependencies } = JSON.parse(
    readFileSync(new URL('../../demo/package.json', import.meta.url), 'utf8'),
  ) as { dependencies: Record<string, string> };
  const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
  const load = () => Promise.reject(missing);
  const environments: Record<string, string>[] = [
    { OPENAI_API_KEY: 'k' },
    { ANTHROPIC_API_KEY: 'k' },
    { DUOLOGUE_MODEL: 'bedrock', AWS_REGION: 'r', AWS_BEARER_TOKEN_BEDROCK: 'k' },
    { DUOLOGUE_MODEL: 'compatible/x', DUOLOGUE_COMPATIBLE_URL: 'http://localhost/v1' },
  ];
  for (const env of environments) {
    const texts = await chooseModel(env, { load }).catch((error: Error) => error.message);
    const [, name = '', version] = /npm install (.+)@([^@]+)$/.exec(String(texts)) ?? [];
    expect([name, version]).toEqual([name, dependencies[name]]);
    expect(version).toBeDefined();
  }
});
