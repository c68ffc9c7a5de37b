import { type BaseLlm, LLMRegistry } from '@google/adk';
import { pairOf } from './adk-safe.ts';
import { fromAiSdk } from './ai-sdk.ts';
import { EMBEDDED_MODEL, EmbeddedModel, type EmbeddedModelOptions } from './embedded/embedded-model.ts';
import { isLiveModelName, liveFamilyOf } from './gemini/families.ts';
import { DuologueGemini } from './gemini/index.ts';
import { PROVIDERS } from './providers/index.ts';
import type { Environment, Provider } from './providers/provider.ts';

/** The chosen model. `why` and `howToChange` are sentences for the log. */
export interface ChosenModel {
  /** The model for an agent: it uses `turn` for calls turn by turn, and `live` for live runs. */
  model: BaseLlm;
  turn: BaseLlm;
  live: BaseLlm;
  name: string;
  why: string;
  howToChange: string;
}

/** How `chooseModel` finds a model in the environment. */
export interface ChooseOptions {
  /** Whether live runs may use a different model than turns; true by default. */
  live?: boolean;
  /** Imports the package of a provider by its name; uses `import` by default. */
  load?: (name: string) => Promise<unknown>;
  /** Options of the embedded model, such as the rules of your tools. They have an effect only if that model is chosen. */
  embedded?: EmbeddedModelOptions;
}

const GEMINI_TURN = 'gemini-3.8-flash';
const GEMINI_LIVE = 'gemini-3.8-live';
/** The live model that is generally available on Vertex AI, and a region that has it: the location `global` has no live model. */
const VERTEX_LIVE = 'gemini-live-2.5-flash-native-audio';
const VERTEX_LIVE_LOCATION = 'us-central1';
const GEMINI_KEYS = ['GOOGLE_API_KEY', 'GEMINI_API_KEY', 'GOOGLE_GENAI_API_KEY'];
const NAMES = ['embedded', 'gemini-…', 'vertex/…', ...Object.keys(PROVIDERS).map((name) => `${name}/…`)];
const KEYS = [GEMINI_KEYS[0], ...Object.values(PROVIDERS).flatMap(({ key }) => key ?? [])];

const HOW_TO_CHANGE = `Set DUOLOGUE_MODEL to ${NAMES.slice(0, -1).join(', ')} or ${NAMES.at(-1)}. For another model in live runs, add its name after a comma. Or leave DUOLOGUE_MODEL out and set one of ${KEYS.join(', ')}.`;

/**
 * Chooses a model from the environment: the model that `DUOLOGUE_MODEL` names; otherwise Gemini on Vertex AI, if `GOOGLE_GENAI_USE_VERTEXAI` is set;
 * otherwise a model of the first provider whose key is set, Gemini first; otherwise the embedded model. Rejects with an error that names the missing
 * variable or package.
 *
 * @example
 * const { model } = await chooseModel(process.env);
 * const agent = new LlmAgent({ name: 'assistant', model });
 */
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
    const [first = '', second] = named.split(',').map((name) => wholeName(name.trim()));
    if (second) return { names: [first, second], why };
    // A live model cannot be called turn by turn, so it is paired with the default model for turns.
    const turn = first.startsWith('vertex/') ? `vertex/${GEMINI_TURN}` : GEMINI_TURN;
    const isLive = /^((google|vertex)\/)?gemini-/.test(first) && isLiveModelName(first);
    return { names: isLive ? [turn, first] : [first], why };
  }
  if (usesVertex(env)) {
    const names: [string, string] = [`vertex/${GEMINI_TURN}`, `vertex/${VERTEX_LIVE}`];
    return { names, why: 'GOOGLE_GENAI_USE_VERTEXAI is set.' };
  }
  const key = GEMINI_KEYS.find((name) => env[name]);
  if (key) return { names: [GEMINI_TURN, GEMINI_LIVE], why: `${key} is set.` };
  for (const [provider, { key, model }] of Object.entries(PROVIDERS)) {
    if (key !== undefined && env[key]) return { names: [`${provider}/${model}`], why: `${key} is set.` };
  }
  return { names: ['embedded'], why: 'No key of a model provider is set.' };
}

/** Adds the provider's default model to a name that is only the name of a provider, such as `openai`. */
function wholeName(name: string): string {
  if (name === 'vertex') return `vertex/${GEMINI_TURN}`;
  const model = Object.hasOwn(PROVIDERS, name) ? PROVIDERS[name]?.model : null;
  return model ? `${name}/${model}` : name;
}

async function create(name: string, env: Environment, options: ChooseOptions): Promise<BaseLlm> {
  // `liveFamilyOf` throws for a live model that cannot hold a conversation, such as one that only translates. Call it now, so that such a name fails at
  // the start, and not at the first live run.
  if (isLiveModelName(name)) liveFamilyOf(name);
  if (name === 'embedded' || name === EMBEDDED_MODEL) return new EmbeddedModel(options.embedded);
  const [prefix = '', ...rest] = name.split('/');
  const id = rest.join('/');
  if (prefix === 'vertex') return createVertex(id || GEMINI_TURN, env);
  if (name.startsWith('gemini-') || prefix === 'google') return createGemini(id || name, env);
  const provider = Object.hasOwn(PROVIDERS, prefix) ? PROVIDERS[prefix] : undefined;
  if (provider) return createFromAiSdk(prefix, provider, id, env, options);
  try {
    return LLMRegistry.newLlm(name);
  } catch {
    throw new Error(`There is no model "${name}". ${HOW_TO_CHANGE}`);
  }
}

function usesVertex(env: Environment): boolean {
  return /^(1|true)$/i.test(env.GOOGLE_GENAI_USE_VERTEXAI ?? '');
}

function createGemini(model: string, env: Environment): BaseLlm {
  if (usesVertex(env)) return createVertex(model, env);
  const apiKey = GEMINI_KEYS.map((key) => env[key]).find(Boolean);
  if (!apiKey) throw new Error(`The model ${model} needs GOOGLE_API_KEY to be set.`);
  const baseUrl = env.GOOGLE_GEMINI_BASE_URL;
  return new DuologueGemini({ model, apiKey, ...(baseUrl ? { baseUrl } : {}) });
}

/** Creates a model on Vertex. Google's client looks for Google Cloud credentials at the first call. */
function createVertex(model: string, env: Environment): BaseLlm {
  const { GOOGLE_CLOUD_PROJECT: project, GOOGLE_CLOUD_LOCATION, GOOGLE_VERTEX_BASE_URL: baseUrl } = env;
  if (!project) throw new Error(`The model vertex/${model} needs GOOGLE_CLOUD_PROJECT to be set.`);
  const given = GOOGLE_CLOUD_LOCATION || 'global';
  const location = given === 'global' && isLiveModelName(model) ? VERTEX_LIVE_LOCATION : given;
  return new DuologueGemini({ model, vertexai: true, project, location, ...(baseUrl ? { baseUrl } : {}) });
}

async function createFromAiSdk(
  prefix: string,
  provider: Provider,
  id: string,
  env: Environment,
  options: ChooseOptions,
): Promise<BaseLlm> {
  const model = id || provider.model;
  if (!model)
    throw new Error(
      `DUOLOGUE_MODEL names no model: write ${prefix}/ and the name of a model that your server has.`,
    );
  const name = `${prefix}/${model}`;
  const recipe = provider.recipe(env, name);
  const load = options.load ?? ((specifier: string): Promise<unknown> => import(specifier));
  try {
    const { secrets, providerOptions } = recipe;
    const made = recipe.make((await load(recipe.package)) as never, model);
    return fromAiSdk(made, { secrets, ...(providerOptions ? { providerOptions } : {}) });
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new Error(`The model ${name} needs a package: npm install ${recipe.package}@${recipe.version}`);
  }
}
