import { anthropicStreaming } from './anthropic.ts';
import { converseStreaming } from './bedrock-converse.ts';
import { listStreaming } from './choice-lists.ts';
import type { Streaming } from './fold.ts';
import { interactionsStreaming } from './gemini-interactions.ts';
import { liveStreaming } from './gemini-live.ts';
import { responsesStreaming } from './openai-responses.ts';
import type { Api } from './record.ts';

const STREAMING: Readonly<Record<string, Streaming>> = {
  'anthropic.messages': anthropicStreaming,
  'bedrock.converse': converseStreaming,
  'gemini.interactions': interactionsStreaming,
  'gemini.live': liveStreaming,
  'openai.responses': responsesStreaming,
};

/** The APIs whose events look like no whole response. */
export const STREAMED = /* @__PURE__ */ Object.keys(STREAMING) as Api[];

/** How an API streams. */
export function streamingOf(api: Api): Streaming {
  return STREAMING[api] ?? listStreaming;
}
