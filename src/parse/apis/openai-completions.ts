import type { ApiDescription, ApiNames } from '../api.ts';
import { list } from '../json.ts';
import { openaiChat } from './openai-chat.ts';

/** OpenAI's legacy completions. Imported models on Bedrock use the same format. The chunks are folded like those of Chat Completions. */
export const openaiCompletions: ApiDescription<'openai.completions'> = {
  api: 'openai.completions',
  // `detect.ts` tries `openaiChat` first, which recognises the bodies of chat. So a body with choices that gets here is a legacy completion.
  recognise: ({ choices }) => (Array.isArray(choices) ? 'either' : null),
  choicesIn: ({ choices }) => list(choices),
  promisesDone: true,
  streaming: openaiChat.streaming,
};

/**
 * The field names of this API. They are the `case` labels in `body.ts`, `citations.ts`, `parts.ts` and `usage.ts`; `npm test -- test/parse/names -u`
 * writes them there.
 */
export const names: ApiNames = {
  body: { text: 'text' },
};
