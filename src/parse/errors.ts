import { isObject, list, type Obj, obj, str, strOrNull } from './json.ts';
import type { Api, ParsedError } from './record.ts';

/** An error body, and whose it looks like. */
export interface ErrorBody {
  api: Api | null;
  provider: string;
  error: ParsedError;
}

function retryDelay(details: unknown): number | null {
  for (const entry of list(details)) {
    const match = /^(\d+(?:\.\d+)?)s$/.exec(str(obj(entry).retryDelay));
    if (match !== null) return Math.round(Number(match[1]) * 1000);
  }
  return null;
}

function isStatus(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 100 && value < 600;
}

/** The error in a provider's error object, or in a bare message. */
export function errorFrom(raw: unknown): ParsedError {
  if (typeof raw === 'string') return { type: null, code: null, message: raw, status: null };
  const e = obj(raw);
  const code = typeof e.code === 'string' || typeof e.code === 'number' ? e.code : null;
  const stated = isStatus(e.code) ? e.code : isStatus(e.status) ? e.status : null;
  const error: ParsedError = {
    type: strOrNull(e.type) ?? strOrNull(e.status) ?? strOrNull(e.__type),
    code,
    message:
      str(e.message) ||
      str(e.Message) ||
      str(e.error) ||
      str(e.detail) ||
      'the provider reported an error without a message',
    status: stated,
  };
  const retryAfterMs = retryDelay(e.details);
  if (retryAfterMs !== null) error.retryAfterMs = retryAfterMs;
  return error;
}

function bedrockError(message: unknown, type: string | null): ErrorBody {
  // "com.amazon.coral.service#ThrottlingException:http://..." names the type in the middle.
  const name = type === null ? null : (/^(?:.*#)?([^:]*)/.exec(type)?.[1] ?? type);
  return {
    api: 'bedrock.converse',
    provider: 'bedrock',
    error: { type: name, code: null, message: str(message), status: null },
  };
}

const EXCEPTION = /Exception$/;

function exceptionKey(body: Obj): string | undefined {
  for (const key in body) if (EXCEPTION.test(key) && isObject(body[key])) return key;
  return undefined;
}

/** The error that a body or stream event is, or null when it is none; by shape, never by HTTP status. */
export function errorOf(body: Obj): ErrorBody | null {
  const inner = body.error;
  if (isObject(inner)) {
    const error = errorFrom(inner);
    if (body.type === 'error' && body.sequence_number === undefined && inner.param === undefined) {
      return { api: 'anthropic.messages', provider: 'anthropic', error };
    }
    if (body.event_type === 'error') return { api: 'gemini.interactions', provider: 'gemini', error };
    if (typeof inner.status === 'string' && typeof inner.code === 'number') {
      return { api: 'gemini.generateContent', provider: 'gemini', error };
    }
    const api = body.type === 'error' ? 'openai.responses' : 'openai.chat';
    return { api, provider: 'openai', error };
  }
  if (typeof inner === 'string' && inner !== '') {
    const error = {
      ...errorFrom(inner),
      code: strOrNull(body.code),
      type: strOrNull(body.error_type ?? body.type),
    };
    return { api: 'openai.chat', provider: 'openai', error };
  }
  if (body.type === 'error' || body.object === 'error') {
    const type = body.type === 'error' ? null : strOrNull(body.type);
    const api = body.object === 'error' ? 'openai.chat' : 'openai.responses';
    return { api, provider: 'openai', error: { ...errorFrom(body), type } };
  }
  const exception = exceptionKey(body);
  if (exception !== undefined) {
    const raw = obj(body[exception]);
    return bedrockError(raw.message ?? raw.Message, exception);
  }
  const message = body.message ?? body.Message;
  if (typeof message === 'string') return bedrockError(message, strOrNull(body.__type));
  if (body.__type !== undefined) return bedrockError(str(body.__type), strOrNull(body.__type));
  if (typeof body.detail === 'string')
    return { api: 'openai.chat', provider: 'openai', error: errorFrom(body.detail) };
  return null;
}
