import { MockLanguageModelV3 } from 'ai/test';
import { describe, expect, test } from 'vitest';
import { chooseModel } from '../../src/models/choose.ts';
import { EmbeddedModel } from '../../src/models/embedded/index.ts';
import { DuologueGemini } from '../../src/models/gemini.ts';

/** The packages of the providers, and the settings each was given. */
function packages() {
  const given: unknown[] = [];
  const make = (settings: unknown) => (modelId: string) => {
    given.push(settings);
    return new MockLanguageModelV3({ modelId });
  };
  return { given, load: async () => ({ createOpenAI: make, createAnthropic: make }) };
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

const GEMINI = ['gemini-flash-latest', 'gemini-2.5-flash-native-audio-latest'];

describe('the model that is chosen', () => {
  test.each<[Record<string, string>, string[]]>([
    [{}, ['duologue-embedded', 'duologue-embedded', 'No key of a model provider is set.']],
    [{ GOOGLE_API_KEY: 'k' }, [...GEMINI, 'GOOGLE_API_KEY is set.']],
    [{ GEMINI_API_KEY: 'k', OPENAI_API_KEY: 'k' }, [...GEMINI, 'GEMINI_API_KEY is set.']],
    [{ OPENAI_API_KEY: 'k' }, ['gpt-5.4-mini', 'gpt-5.4-mini', 'OPENAI_API_KEY is set.']],
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
      ['gemini-flash-latest', 'gemini-live-2.5-flash-preview', 'DUOLOGUE_MODEL names it.'],
    ],
    [
      { DUOLOGUE_MODEL: 'openai/gpt-6-sol', OPENAI_API_KEY: 'k', GOOGLE_API_KEY: 'k' },
      ['gpt-6-sol', 'gpt-6-sol', 'DUOLOGUE_MODEL names it.'],
    ],
  ])('with %j', async (env, chosen) => {
    expect(await names(env)).toEqual(chosen);
  });

  test('has no other one for live runs when none is wanted', async () => {
    expect((await names({ GOOGLE_API_KEY: 'k' }, false)).slice(0, 2)).toEqual([
      'gemini-flash-latest',
      'gemini-flash-latest',
    ]);
  });

  test('is told with its name and the way to another', async () => {
    const chosen = await chooseModel({ GOOGLE_API_KEY: 'k' });
    expect(chosen.name).toBe('gemini-flash-latest, live gemini-2.5-flash-native-audio-latest');
    expect(chosen.howToChange).toContain('DUOLOGUE_MODEL');
    expect(chosen.turn).toBeInstanceOf(DuologueGemini);
    expect(chosen.model.model).toBe('gemini-flash-latest');
    const embedded = await chooseModel({});
    expect([embedded.name, embedded.model === embedded.turn]).toEqual(['embedded', true]);
    expect(embedded.model).toBeInstanceOf(EmbeddedModel);
  });

  test('gets the key from the environment it was chosen from', async () => {
    const { given, load } = packages();
    await chooseModel({ OPENAI_API_KEY: 'secret' }, { load });
    expect(given).toEqual([{ apiKey: 'secret' }]);
  });
});

describe('a choice that cannot work says what to do', () => {
  test.each<[Record<string, string>, string]>([
    [{ DUOLOGUE_MODEL: 'gemini-2.5-pro' }, 'The model gemini-2.5-pro needs GOOGLE_API_KEY to be set.'],
    [{ DUOLOGUE_MODEL: 'openai/gpt-6-sol' }, 'The model openai/gpt-6-sol needs OPENAI_API_KEY to be set.'],
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
