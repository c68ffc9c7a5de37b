import { type BaseLlm, LLMRegistry } from '@google/adk';
import { fromAiSdk } from './ai-sdk.ts';
import type { AiSdkModel } from './ai-sdk-types.ts';
import { EMBEDDED_MODEL, EmbeddedModel } from './embedded/index.ts';
import { DuologueGemini } from './gemini.ts';
import { isLiveModelName } from './gemini-live.ts';
import { pairOf } from './pair.ts';

/** The model that was chosen, and how to tell a person about it. */
export interface ChosenModel {
  /** For an agent: turns go to `turn`, live runs to `live`. */
  model: BaseLlm;
  turn: BaseLlm;
  live: BaseLlm;
  name: string;
  why: string;
  howToChange: string;
}

/** How a model is chosen. */
export interface ChooseOptions {
  /** Whether live runs may have a model of their own; true by default. */
  live?: boolean;
  /** Loads an optional package. */
  load?: (name: string) => Promise<unknown>;
}

type Environment = Record<string, string | undefined>;

/** An AI SDK provider: its package, the version that goes with `ai` 6, its key, and a model to begin with. */
const PROVIDERS = {
  openai: { package: '@ai-sdk/openai', version: '3.0.139', key: 'OPENAI_API_KEY', model: 'gpt-5.4-mini' },
  anthropic: {
    package: '@ai-sdk/anthropic',
    version: '3.0.137',
    key: 'ANTHROPIC_API_KEY',
    model: 'claude-haiku-5-5',
  },
} as const;

const GEMINI_TURN = 'gemini-flash-latest';
const GEMINI_LIVE = 'gemini-2.5-flash-native-audio-latest';
const GEMINI_KEYS = ['GOOGLE_API_KEY', 'GEMINI_API_KEY', 'GOOGLE_GENAI_API_KEY'];

const HOW_TO_CHANGE =
  'Set DUOLOGUE_MODEL to embedded, gemini-…, openai/… or anthropic/…; a live model of its own may follow a comma. Or set one of GOOGLE_API_KEY, OPENAI_API_KEY, ANTHROPIC_API_KEY.';

/** Chooses a model from the environment: the one named in `DUOLOGUE_MODEL`, one there is a key for, or the embedded one. */
export async function chooseModel(env: Environment, options: ChooseOptions = {}): Promise<ChosenModel> {
  const { names, why } = namesFrom(env);
  const [turnName, liveName] = names;
  const turn = await create(turnName, env, options);
  const live =
    liveName === undefined || liveName === turnName || options.live === false
      ? turn
      : await create(liveName, env, options);
  const name = live === turn ? turnName : `${turnName}, live ${liveName}`;
  return { model: pairOf(turn, live), turn, live, name, why, howToChange: HOW_TO_CHANGE };
}

function namesFrom(env: Environment): { names: [turn: string, live?: string]; why: string } {
  const named = env.DUOLOGUE_MODEL?.trim();
  if (named) {
    const why = 'DUOLOGUE_MODEL names it.';
    const [first = '', second] = named.split(',').map((name) => name.trim());
    if (second) return { names: [first, second], why };
    // A model that is only live cannot be called turn by turn.
    return { names: isLiveModelName(first) ? [GEMINI_TURN, first] : [first], why };
  }
  const key = GEMINI_KEYS.find((name) => env[name]);
  if (key) return { names: [GEMINI_TURN, GEMINI_LIVE], why: `${key} is set.` };
  for (const [provider, { key, model }] of Object.entries(PROVIDERS)) {
    if (env[key]) return { names: [`${provider}/${model}`], why: `${key} is set.` };
  }
  return { names: ['embedded'], why: 'No key of a model provider is set.' };
}

async function create(name: string, env: Environment, options: ChooseOptions): Promise<BaseLlm> {
  if (name === 'embedded' || name === EMBEDDED_MODEL) return new EmbeddedModel();
  const [prefix, ...rest] = name.split('/');
  const id = rest.join('/');
  if (name.startsWith('gemini-') || prefix === 'google') return createGemini(id || name, env);
  if (prefix === 'openai' || prefix === 'anthropic') return createFromAiSdk(prefix, id, env, options);
  try {
    return LLMRegistry.newLlm(name);
  } catch {
    throw new Error(`There is no model "${name}". ${HOW_TO_CHANGE}`);
  }
}

function createGemini(model: string, env: Environment): BaseLlm {
  const apiKey = GEMINI_KEYS.map((key) => env[key]).find(Boolean);
  const isVertex = /^(1|true)$/i.test(env.GOOGLE_GENAI_USE_VERTEXAI ?? '');
  if (!apiKey && !isVertex) throw new Error(`The model ${model} needs GOOGLE_API_KEY to be set.`);
  return new DuologueGemini({ model, ...(apiKey ? { apiKey } : {}) });
}

async function createFromAiSdk(
  provider: keyof typeof PROVIDERS,
  id: string,
  env: Environment,
  options: ChooseOptions,
): Promise<BaseLlm> {
  const { package: packageName, version, key, model } = PROVIDERS[provider];
  const apiKey = env[key];
  const name = `${provider}/${id || model}`;
  if (!apiKey) throw new Error(`The model ${name} needs ${key} to be set.`);
  const load = options.load ?? ((specifier: string): Promise<unknown> => import(specifier));
  let loaded: Record<string, unknown>;
  try {
    loaded = (await load(packageName)) as Record<string, unknown>;
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new Error(`The model ${name} needs a package: npm install ${packageName}@${version}`);
  }
  const make = loaded[provider === 'openai' ? 'createOpenAI' : 'createAnthropic'] as (settings: {
    apiKey: string;
  }) => (id: string) => AiSdkModel;
  return fromAiSdk(make({ apiKey })(id || model));
}
