import { at, type Environment, maker, needed, type Provider } from './provider.ts';

/** The package for OpenAI's two APIs, Chat Completions and Responses. */
const OPENAI = { package: '@ai-sdk/openai', version: '3.0.139' };

/** OpenAI, by its Responses API unless `DUOLOGUE_OPENAI_API` is `chat`. */
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

/** The API of OpenAI that `DUOLOGUE_OPENAI_API` names; undefined when the variable is not set. */
function openaiApi(env: Environment): 'chat' | 'responses' | undefined {
  const api = env.DUOLOGUE_OPENAI_API || undefined;
  if (api === undefined || api === 'chat' || api === 'responses') return api;
  throw new Error(`DUOLOGUE_OPENAI_API must be chat or responses, not "${api}".`);
}

/** Any server with an OpenAI-compatible API: Ollama, vLLM, LM Studio and others. */
export const compatible: Provider = {
  model: null,
  recipe(env, name) {
    const baseURL = needed(env, name, 'DUOLOGUE_COMPATIBLE_URL');
    if (!URL.canParse(baseURL)) {
      throw new Error(
        `DUOLOGUE_COMPATIBLE_URL is "${baseURL}", which is not an address such as http://localhost:11434/v1.`,
      );
    }
    const apiKey = env.DUOLOGUE_COMPATIBLE_KEY || undefined;
    const secrets = apiKey ? [apiKey] : [];
    if (openaiApi(env) === 'responses') {
      // OpenAI's package requires a key. A local server ignores it.
      const settings = { baseURL, name: 'compatible', apiKey: apiKey ?? 'none' };
      return {
        ...OPENAI,
        secrets,
        // A local server stores nothing, so every request has the whole conversation.
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
