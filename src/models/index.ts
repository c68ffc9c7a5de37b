/**
 * Models that ADK can run: chosen by the environment or given, called again when they fail, and usable live whatever they are. What
 * every live provider needs is in `live/`; a provider for turns is a file in `providers/` and a line of its index. A model keeps
 * nothing between two calls; the state of a live connection belongs to that connection.
 */
export { pairOf } from './adk-safe.ts';
export { type AiSdkModel, type FromAiSdkOptions, fromAiSdk } from './ai-sdk.ts';
export type { ModelCapabilities } from './capabilities.ts';
export { checkModel } from './check.ts';
export { type ChooseOptions, type ChosenModel, chooseModel } from './choose.ts';
export { EmbeddedModel, type EmbeddedModelOptions } from './embedded/index.ts';
export { DuologueGemini, type DuologueGeminiParams } from './gemini/index.ts';
export type { GeminiLiveOptions } from './gemini/live-provider.ts';
export type { RetryPolicy } from './retry-policy.ts';
export { type SpeechOptions, type SpeechToText, type TextToSpeech, withSpeech } from './speech/index.ts';
