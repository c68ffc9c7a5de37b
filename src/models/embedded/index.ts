/**
 * A model made of rules, for users who have no key yet, for tests and for demonstrations. It has rules for general talk. An
 * application adds rules for its tools, one or more for each tool, written with the functions exported here. The model keeps no state
 * between two calls: it reads the conversation from each request.
 */

export type { DecodeImage, Pixels } from './colours.ts';
export type { Call, Conversation, Picture, Turn } from './conversation.ts';
export { EmbeddedModel, type EmbeddedModelOptions } from './embedded-model.ts';
export {
  callsOf,
  earlierTurns,
  type Outcome,
  outcomeOf,
  previousTurn,
  type Settled,
  troubleText,
  waitingCalls,
} from './results.ts';
export type { Reply, Rule, RuleContext, RuleTool, ToolRequest } from './rule.ts';
export { type Bilingual, isNegated, type Language, languageOf, listOf, say } from './understand/language.ts';
export { personName, personNameJa } from './understand/names.ts';
export { coreOf, withoutClosing, withoutOpening } from './understand/text.ts';
