/**
 * Who thinks: models that ADK can run, chosen by the environment or given, asked again when they fail, and usable live
 * whatever they are. A provider is one file in `providers/` and one line of its index. A model keeps nothing between two
 * calls; what a live connection knows belongs to that connection.
 */
export { type AdkSafeOptions, adkSafe, instrumentModels, pairOf } from './adk-safe.ts';
export { type AiSdkModel, type FromAiSdkOptions, fromAiSdk } from './ai-sdk.ts';
export { checkModel } from './check.ts';
export { type ChooseOptions, type ChosenModel, chooseModel } from './choose.ts';
export {
  type DecodeImage,
  EMBEDDED_MODEL,
  EmbeddedModel,
  type EmbeddedModelOptions,
  type Pixels,
  type Reply,
  type Rule,
  type RuleContext,
  type ToolRequest,
} from './embedded/index.ts';
export { DuologueGemini, type DuologueGeminiParams } from './gemini/index.ts';
export type { GeminiLiveOptions } from './gemini/live-provider.ts';
export { TurnBasedLiveConnection } from './live/turn-based.ts';
export { type Notice, noticeOf, readNotice } from './prompt-texts.ts';
export type { RetryPolicy } from './retry-policy.ts';
export type { SpeechOptions, SpeechToText, TextToSpeech } from './speech/index.ts';
export { withSpeech } from './speech/index.ts';
