import { familyOf } from './families.ts';
import { emptyFold } from './fold.ts';
import { isObject, type Obj, obj, tryJson } from './json.ts';
import type { Api } from './record.ts';
import { STREAMED, streamingOf } from './streaming.ts';

/** What a value is: a whole response, one event of a stream, or either (the two look alike). */
export interface Match {
  api: Api;
  as: 'body' | 'event' | 'either';
}

function matched(api: Api, as: Match['as'] = 'body'): Match {
  return { api, as };
}

/** Finds the API of a value by its shape alone; the order matters, the first that fits has it. */
export function recognise(value: Obj): Match | null {
  const { object, choices } = value;
  const chunk = object === 'chat.completion.chunk';
  if (Array.isArray(choices)) {
    const first = obj(choices[0]);
    const { message, delta } = first;
    if (object === 'text_completion' || (!message && !delta && first.text !== undefined))
      return matched('openai.completions', 'either');
    const isPiece = chunk || (delta && !message);
    return matched('openai.chat', isPiece ? 'event' : delta || !message ? 'either' : 'body');
  }
  if (
    value.type === 'message' ||
    (Array.isArray(value.content) && (value.stop_reason || obj(value.usage).input_tokens !== undefined))
  )
    return matched('anthropic.messages');
  const { output } = value;
  if (isObject(obj(output).message) || (value.stopReason && isObject(value.usage)))
    return matched('bedrock.converse');
  if (object === 'response' || object === 'realtime.response' || Array.isArray(output))
    return matched('openai.responses');
  if (object === 'interaction' || (Array.isArray(value.steps) && typeof value.status === 'string'))
    return matched('gemini.interactions');
  if (chunk || value.x_groq) return matched('openai.chat', 'event');
  if (
    Array.isArray(value.candidates) ||
    isObject(value.promptFeedback) ||
    (isObject(value.usageMetadata) && (value.serverContent ?? value.toolCall) === undefined)
  )
    return matched('gemini.generateContent', 'either');
  const family = familyOf(value);
  if (family) return matched(`bedrock.invoke.${family}`, 'either');
  const scratch = emptyFold('gemini.live', []);
  const api = STREAMED.find((name) => streamingOf(name).take(scratch, value));
  return api ? matched(api, 'event') : null;
}

const WRAPPERS = 'response body data message result output modelOutput outputBodyJson'.split(' ');

/** What is inside the wrappers that logs, batch files, recordings and fixtures put round a response; it may be JSON text. */
export function inside(value: Obj): Obj | undefined {
  for (const name of WRAPPERS) {
    const inner = value[name];
    const read = typeof inner === 'string' ? tryJson(inner) : inner;
    if (isObject(read)) return read;
  }
  return undefined;
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
  for (let inner = isObject(value) ? value : undefined; inner; inner = inside(inner)) {
    const match = recognise(inner);
    if (!match) continue;
    const confidence =
      typeof (inner.object ?? inner.type ?? inner.event_type) === 'string' ? 'named' : 'shape';
    return { api: match.api, event: match.as === 'event', confidence };
  }
  return null;
}
