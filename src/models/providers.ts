import type { AiSdkModel } from './ai-sdk-types.ts';

/** Environment variables, by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A package of the AI SDK, once it is loaded: the functions that make a provider, by name. */
type Loaded = Record<string, (settings: object) => ProviderOfModels>;
type ProviderOfModels = ((id: string) => AiSdkModel) & {
  chat(id: string): AiSdkModel;
  responses(id: string): AiSdkModel;
};

/** What it takes to make models of one provider. */
interface Recipe {
  package: string;
  /** The version that goes with `ai` 6. */
  version: string;
  make(loaded: Loaded, id: string): AiSdkModel;
  /** What must never be told to anyone. */
  secrets: string[];
  providerOptions?: Record<string, Record<string, unknown>>;
}

/** A provider of models that comes with a package of the AI SDK. */
export interface Provider {
  /** A model to begin with; null where only the person knows what there is. */
  model: string | null;
  /** Reads the environment; throws in plain words when something is missing. */
  recipe(env: Environment, name: string): Recipe;
}

const OPENAI = { package: '@ai-sdk/openai', version: '3.0.139' };

/** The providers by their names in `DUOLOGUE_MODEL`. */
export const PROVIDERS: Readonly<Record<string, Provider>> = {
  openai: {
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
  },
  anthropic: {
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
  },
  bedrock: {
    model: 'anthropic.claude-sonnet-5-5',
    recipe(env, name) {
      const region = env.AWS_REGION || env.AWS_DEFAULT_REGION || needed(env, name, 'AWS_REGION');
      const access = awsAccess(env, name);
      const settings = {
        region,
        ...access,
        ...at(env.AWS_ENDPOINT_URL_BEDROCK_RUNTIME || env.AWS_ENDPOINT_URL),
      };
      return {
        package: '@ai-sdk/amazon-bedrock',
        version: '4.0.186',
        secrets: Object.values(access),
        make: (loaded, id) => maker(loaded, 'createAmazonBedrock')(settings)(id),
      };
    },
  },
  compatible: {
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
  },
};

function needed(env: Environment, model: string, variable: string): string {
  const value = env[variable];
  if (!value) throw new Error(`The model ${model} needs ${variable} to be set.`);
  return value;
}

function at(baseURL: string | undefined): { baseURL?: string } {
  return baseURL ? { baseURL } : {};
}

/** Which of OpenAI's two APIs is spoken; undefined leaves it to the provider. */
function openaiApi(env: Environment): 'chat' | 'responses' | undefined {
  const api = env.DUOLOGUE_OPENAI_API || undefined;
  if (api === undefined || api === 'chat' || api === 'responses') return api;
  throw new Error(`DUOLOGUE_OPENAI_API must be chat or responses, not "${api}".`);
}

/** A key of Bedrock's own, or an access key with its secret. */
function awsAccess(env: Environment, model: string): Record<string, string> {
  if (env.AWS_BEARER_TOKEN_BEDROCK) return { apiKey: env.AWS_BEARER_TOKEN_BEDROCK };
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  if (!accessKeyId || !secretAccessKey) {
    throw new Error(
      `The model ${model} needs AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, to be set.`,
    );
  }
  const sessionToken = env.AWS_SESSION_TOKEN;
  return { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) };
}

function maker(loaded: Loaded, name: string): (settings: object) => ProviderOfModels {
  const make = loaded[name];
  if (!make) throw new Error(`The package of the provider has no ${name}: its version does not fit.`);
  return make;
}
