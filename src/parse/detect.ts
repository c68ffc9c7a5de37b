import { familyOf } from './families.ts';
import { emptyFold } from './fold.ts';
import { isObject, type Obj, obj } from './json.ts';
import type { Api } from './record.ts';
import { STREAMED, streamingOf } from './streaming.ts';

/** What a value is: a whole response, one event of a stream, or either (the two look alike). */
export interface Match {
  api: Api;
  as: 'body' | 'event' | 'either';
  value: Obj;
}

function matched(value: Obj, api: Api, as: Match['as'] = 'body'): Match {
  return { api, as, value };
}

/** Finds the API of a value by its shape alone; the order matters, the first that fits has it. */
export function recognise(value: Obj): Match | null {
  const { object, choices, output, usage } = value;
  if (object === 'interaction' || (Array.isArray(value.steps) && typeof value.status === 'string'))
    return matched(value, 'gemini.interactions');
  if (object === 'response' || object === 'realtime.response' || Array.isArray(output))
    return matched(value, 'openai.responses');
  const chunk = object === 'chat.completion.chunk';
  if (Array.isArray(choices)) {
    const { text, message, delta } = obj(choices[0]);
    if (object === 'text_completion' || (text !== undefined && !message && !delta))
      return matched(value, 'openai.completions', 'either');
    return matched(value, 'openai.chat', chunk || delta ? 'event' : message ? 'body' : 'either');
  }
  if (chunk || value.x_groq) return matched(value, 'openai.chat', 'event');
  if (
    value.type === 'message' ||
    (Array.isArray(value.content) && (value.stop_reason || obj(usage).input_tokens !== undefined))
  )
    return matched(value, 'anthropic.messages');
  if (isObject(obj(output).message) || (value.stopReason && isObject(usage)))
    return matched(value, 'bedrock.converse');
  const live = value.serverContent ?? value.toolCall;
  if (
    Array.isArray(value.candidates) ||
    isObject(value.promptFeedback) ||
    (isObject(value.usageMetadata) && live === undefined)
  )
    return matched(value, 'gemini.generateContent', 'either');
  const family = familyOf(value);
  if (family) return matched(value, `bedrock.invoke.${family}`, 'either');
  const api = STREAMED.find((name) => streamingOf(name).take(emptyFold(name, []), value));
  return api ? matched(value, api, 'event') : null;
}

const WRAPPERS = ['response', 'body', 'data', 'message', 'result'] as const;

/** Looks inside the wrappers that logs, batch files and fixtures put round a response. */
export function unwrap(value: Obj): Match | null {
  let inner: Obj = value;
  for (let depth = 0; depth < 3; depth++) {
    const key = WRAPPERS.find((name) => isObject(inner[name]));
    if (!key) break;
    inner = inner[key] as Obj;
    const match = recognise(inner);
    if (match) return match;
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
  const match = isObject(value) && (recognise(value) ?? unwrap(value));
  if (!match) return null;
  const { object, type, event_type } = match.value;
  const confidence = typeof (object ?? type ?? event_type) === 'string' ? 'named' : 'shape';
  return { api: match.api, event: match.as === 'event', confidence };
}
