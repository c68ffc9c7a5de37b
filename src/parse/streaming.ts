import { anthropicStreaming } from './anthropic.ts';
import { converseStreaming } from './bedrock-converse.ts';
import { listStreaming } from './choice-lists.ts';
import type { Streaming } from './fold.ts';
import { interactionsStreaming } from './gemini-interactions.ts';
import { liveStreaming } from './gemini-live.ts';
import { responsesStreaming } from './openai-responses.ts';
import type { Api } from './record.ts';

/** How an API streams. */
export function streamingOf(api: Api): Streaming {
  switch (api) {
    case 'anthropic.messages':
      return anthropicStreaming;
    case 'openai.responses':
      return responsesStreaming;
    case 'bedrock.converse':
      return converseStreaming;
    case 'gemini.interactions':
      return interactionsStreaming;
    case 'gemini.live':
      return liveStreaming;
  }
  return listStreaming;
}
