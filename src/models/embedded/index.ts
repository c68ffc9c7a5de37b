/**
 * A model made of rules, for people who have no key yet, for tests and for demonstrations. It brings general talk; what
 * an application can do comes with its own rules, one or more for each tool, written with the functions exported here.
 * It keeps nothing between two calls: all it knows of a conversation it reads from the request.
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
