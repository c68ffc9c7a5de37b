import { at, maker, needed, type Provider } from './provider.ts';

/** Anthropic's own API. */
export const anthropic: Provider = {
  key: 'ANTHROPIC_API_KEY',
  model: 'claude-haiku-5-5',
  recipe(env, name) {
    const apiKey = needed(env, name, 'ANTHROPIC_API_KEY');
    const settings = { apiKey, ...at(env.ANTHROPIC_BASE_URL) };
    return {
      package: '@ai-sdk/anthropic',
      version: '3.0.138',
      secrets: [apiKey],
      make: (loaded, id) => maker(loaded, 'createAnthropic')(settings)(id),
    };
  },
};
