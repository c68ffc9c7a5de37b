/**
 * The APIs that the parser reads, one file each. A file has two exports:
 *
 * - an `ApiDescription`: how its bodies and events are recognised, how it streams, which fields only it has;
 * - `names`: its names for the fields that every API has.
 *
 * To add an API, write its file, add it to the list below, and run `npm test -- test/parse/names -u`, which writes its names as
 * `case` labels into `body.ts`, `citations.ts`, `parts.ts` and `usage.ts`. The descriptions have no state.
 */
import { anthropicComplete } from './anthropic-complete.ts';
import { anthropicMessages } from './anthropic-messages.ts';
import { bedrockConverse } from './bedrock-converse.ts';
import { bedrockInvoke } from './bedrock-invoke.ts';
import { cohereChat } from './cohere-chat.ts';
import { geminiGenerateContent } from './gemini-generate-content.ts';
import { geminiInteractions } from './gemini-interactions.ts';
import { geminiLive } from './gemini-live.ts';
import { ollama } from './ollama.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiCompletions } from './openai-completions.ts';
import { openaiResponses } from './openai-responses.ts';

/** All APIs. `recognise` of `detect.ts` tries them in this order, so the most frequent come first. */
export const APIS = [
  openaiChat,
  anthropicMessages,
  bedrockConverse,
  openaiResponses,
  geminiGenerateContent,
  geminiInteractions,
  openaiCompletions,
  anthropicComplete,
  bedrockInvoke,
  geminiLive,
  cohereChat,
  ollama,
] as const;

/** The name of an API: the provider, a dot, and the API. */
export type Api = (typeof APIS)[number]['api'];
