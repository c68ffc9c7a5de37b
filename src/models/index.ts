/**
 * Models that ADK can run. The environment or the application chooses a model; failed calls are repeated; and every model can be used in a
 * live run. `live/` has the code that all providers of live APIs share. To add a provider that is called turn by turn, write a file in
 * `providers/` and add it to the index there. A model keeps no state between two calls; a live connection owns its own state.
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
