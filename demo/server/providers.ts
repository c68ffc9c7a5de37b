/** The packages of model providers that come with the demo, each loaded when its provider is chosen. */
const PACKAGES: Readonly<Record<string, () => Promise<unknown>>> = {
  '@ai-sdk/openai': () => import('@ai-sdk/openai'),
  '@ai-sdk/anthropic': () => import('@ai-sdk/anthropic'),
  '@ai-sdk/amazon-bedrock': () => import('@ai-sdk/amazon-bedrock'),
  '@ai-sdk/openai-compatible': () => import('@ai-sdk/openai-compatible'),
};

/** Loads the package of a model provider. */
export function loadProvider(name: string): Promise<unknown> {
  const load = PACKAGES[name];
  if (!load) throw new Error(`The demo does not bring the package ${name}.`);
  return load();
}
