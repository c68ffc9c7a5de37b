import { OPENAI, openaiApi } from './openai.ts';
import { maker, needed, type Provider } from './provider.ts';

/** Any server that speaks OpenAI's API: Ollama, vLLM, LM Studio and others. */
export const compatible: Provider = {
  model: null,
  recipe(env, name) {
    const baseURL = needed(env, name, 'DUOLOGUE_COMPATIBLE_URL');
    if (!URL.canParse(baseURL)) {
      throw new Error(
        `DUOLOGUE_COMPATIBLE_URL is "${baseURL}", which is no address such as http://localhost:11434/v1.`,
      );
    }
    const apiKey = env.DUOLOGUE_COMPATIBLE_KEY || undefined;
    const secrets = apiKey ? [apiKey] : [];
    if (openaiApi(env) === 'responses') {
      // OpenAI's own package wants a key, and a local server reads none.
      const settings = { baseURL, name: 'compatible', apiKey: apiKey ?? 'none' };
      return {
        ...OPENAI,
        secrets,
        // A local server remembers nothing: everything that was said is sent again.
        providerOptions: { openai: { store: false } },
        make: (loaded, id) => maker(loaded, 'createOpenAI')(settings).responses(id),
      };
    }
    const settings = { baseURL, name: 'compatible', includeUsage: true, ...(apiKey ? { apiKey } : {}) };
    return {
      package: '@ai-sdk/openai-compatible',
      version: '2.0.87',
      secrets,
      make: (loaded, id) => maker(loaded, 'createOpenAICompatible')(settings)(id),
    };
  },
};
