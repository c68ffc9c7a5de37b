import { anthropicMessages } from './anthropic.ts';
import type { ApiReader, Recognised } from './api.ts';
import { bedrockConverse } from './bedrock-converse.ts';
import { bedrockInvoke } from './bedrock-invoke.ts';
import { geminiGenerateContent } from './gemini.ts';
import { geminiInteractions } from './gemini-interactions.ts';
import { geminiLive } from './gemini-live.ts';
import { isObject, type Obj } from './json.ts';
import { openAiChat, openAiCompletions } from './openai-chat.ts';
import { openAiResponses } from './openai-responses.ts';
import type { Api } from './record.ts';

/** Every API in the order in which their shapes are told apart: the first that recognises a value has it. */
const READERS: readonly ApiReader[] = [
  geminiInteractions,
  openAiResponses,
  openAiChat,
  openAiCompletions,
  anthropicMessages,
  bedrockConverse,
  geminiGenerateContent,
  geminiLive,
  ...bedrockInvoke,
];

/** A value and the API that recognised it. */
export interface Match {
  reader: ApiReader;
  as: Exclude<Recognised, null>;
  value: Obj;
}

/** Finds the API of a value by its shape alone. */
export function matchApi(value: Obj): Match | null {
  for (const reader of READERS) {
    const as = reader.recognise(value);
    if (as !== null) return { reader, as, value };
  }
  return null;
}

const WRAPPERS = ['response', 'body', 'data', 'message', 'result'] as const;

/** Looks inside the wrappers that logs, batch files and fixtures put round a response. */
export function unwrap(value: Obj): Match | null {
  let inner: Obj = value;
  for (let depth = 0; depth < 3; depth++) {
    const key = WRAPPERS.find((name) => isObject(inner[name]));
    if (key === undefined) return null;
    inner = inner[key] as Obj;
    const match = matchApi(inner);
    if (match !== null) return match;
  }
  return null;
}

/** What `detect` found: the API, whether the value is one event of a stream, and how sure that is. */
export interface Detected {
  api: Api;
  event: boolean;
  /** `named` when the value names its own type, `shape` when only its fields tell. */
  confidence: 'named' | 'shape';
}

/** Tells which API a decoded body or stream event comes from; null when it is none that the parser reads. */
export function detect(value: unknown): Detected | null {
  const match = isObject(value) ? (matchApi(value) ?? unwrap(value)) : null;
  if (match === null) return null;
  const { object, type, event_type } = match.value;
  const named = typeof (object ?? type ?? event_type) === 'string';
  return { api: match.reader.api, event: match.as === 'event', confidence: named ? 'named' : 'shape' };
}
