import { at, type Environment, maker, needed, type Provider } from './provider.ts';

/** The package that speaks OpenAI's two APIs. */
export const OPENAI = { package: '@ai-sdk/openai', version: '3.0.139' };

/** OpenAI, by its Responses API unless the environment says otherwise. */
export const openai: Provider = {
  key: 'OPENAI_API_KEY',
  model: 'gpt-6-luna',
  recipe(env, name) {
    const apiKey = needed(env, name, 'OPENAI_API_KEY');
    const api = openaiApi(env) ?? 'responses';
    const settings = { apiKey, ...at(env.OPENAI_BASE_URL) };
    return {
      ...OPENAI,
      secrets: [apiKey],
      make: (loaded, id) => maker(loaded, 'createOpenAI')(settings)[api](id),
    };
  },
};

/** Which of OpenAI's two APIs is spoken; undefined leaves it to the provider. */
export function openaiApi(env: Environment): 'chat' | 'responses' | undefined {
  const api = env.DUOLOGUE_OPENAI_API || undefined;
  if (api === undefined || api === 'chat' || api === 'responses') return api;
  throw new Error(`DUOLOGUE_OPENAI_API must be chat or responses, not "${api}".`);
}
