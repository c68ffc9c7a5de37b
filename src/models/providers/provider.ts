import type { AiSdkModel } from '../ai-sdk.ts';

/** Environment variables, by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A package of the AI SDK, once it is loaded: the functions that make a provider, by name. */
type Loaded = Record<string, (settings: object) => ProviderOfModels>;
type ProviderOfModels = ((id: string) => AiSdkModel) & {
  chat(id: string): AiSdkModel;
  responses(id: string): AiSdkModel;
};

/** How to create a model of one provider: its package, and the settings from the environment. */
interface Recipe {
  package: string;
  /** The version of the package that fits `ai` 6. */
  version: string;
  make(loaded: Loaded, id: string): AiSdkModel;
  /** Keys that are removed from every error text. */
  secrets: string[];
  providerOptions?: Record<string, Record<string, unknown>>;
}

/** A provider of models that comes with a package of the AI SDK. */
export interface Provider {
  /** The default model; null for a server of the operator, where only the operator knows the names of the models. */
  model: string | null;
  /** The environment variable that selects this provider when it is set. */
  key?: string;
  /** Reads the settings from the environment. Throws when a variable is missing. */
  recipe(env: Environment, name: string): Recipe;
}

/** The value of a required variable. Throws when it is missing. */
export function needed(env: Environment, model: string, variable: string): string {
  const value = env[variable];
  if (!value) throw new Error(`The model ${model} needs ${variable} to be set.`);
  return value;
}

/** The setting for the address of the service; empty to use the default address. */
export function at(baseURL: string | undefined): { baseURL?: string } {
  return baseURL ? { baseURL } : {};
}

/** The function of a package that makes its provider. Throws when the package has no function of this name. */
export function maker(loaded: Loaded, name: string): (settings: object) => ProviderOfModels {
  const make = loaded[name];
  if (!make)
    throw new Error(
      `The installed package of the provider has no function ${name}. Install the version of that package for ai 6.`,
    );
  return make;
}
