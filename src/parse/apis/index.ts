/**
 * The APIs that the parser reads. Each file is one: how a body is told from others, how the API streams, and what it calls
 * the things that every API has. To add one, write its file, name it below, and let `test/parse/names` write its names into the
 * loops that read bodies. They are data and functions without state.
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

/** Every API that the parser reads, in the order in which they are asked whether a value is theirs. */
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

/** The API shapes the parser reads. */
export type Api = (typeof APIS)[number]['api'];
