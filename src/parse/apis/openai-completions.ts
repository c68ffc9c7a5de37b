import type { ApiDescription, ApiNames } from '../api.ts';
import { list } from '../json.ts';
import { openaiChat } from './openai-chat.ts';

/** OpenAI's legacy completions; Bedrock's imported models use them too. */
export const openaiCompletions: ApiDescription<'openai.completions'> = {
  api: 'openai.completions',
  // Chat has been asked before.
  recognise: ({ choices }) => (Array.isArray(choices) ? 'either' : null),
  choicesIn: ({ choices }) => list(choices),
  promisesDone: true,
  streaming: openaiChat.streaming,
};

/** Its names for what every API has; the labels in the readers are made of them. */
export const names: ApiNames = {
  body: { text: 'text' },
};
