import { isObject, list, type Obj, obj, str, strOrNull } from './json.ts';
import type { Api, ParsedError } from './record.ts';

/** An error, and the API whose shape it has. */
export interface ErrorBody {
  api: Api;
  error: ParsedError;
}

/** The error in a provider's error object, or in a bare message. */
export function errorFrom(raw: unknown, type?: string): ParsedError {
  const e = obj(raw);
  const { code, status } = e;
  const error: ParsedError = {
    type: strOrNull(type ?? e.type ?? status ?? e.__type),
    code: typeof code === 'string' || typeof code === 'number' ? code : null,
    message: str(raw) || str(e.message ?? e.Message ?? e.error ?? e.detail) || 'no message',
    status:
      [code, status].find(
        (value): value is number => typeof value === 'number' && value >= 100 && value < 600,
      ) ?? null,
  };
  const delay = list(e.details).find((detail) => obj(detail).retryDelay);
  if (delay) error.retryAfterMs = Math.round(Number.parseFloat(str(obj(delay).retryDelay)) * 1000) || 0;
  return error;
}

const EXCEPTION = /Exception$/;

/** The error that a body or stream event is, or null when it is none; by shape, never by HTTP status. */
export function errorOf(body: Obj): ErrorBody | null {
  const inner = body.error;
  if (isObject(inner)) {
    const gemini = body.event_type || (typeof inner.status === 'string' && typeof inner.code === 'number');
    const anthropic = body.type === 'error' && inner.param === undefined;
    return {
      api: gemini ? 'gemini.generateContent' : anthropic ? 'anthropic.messages' : 'openai.chat',
      error: errorFrom(inner),
    };
  }
  if (body.type === 'error' || body.object === 'error' || typeof (inner ?? body.detail) === 'string') {
    return { api: 'openai.chat', error: errorFrom(body, body.type === 'error' ? '' : undefined) };
  }
  const exception = Object.keys(body).find((key) => EXCEPTION.test(key));
  const raw = exception ? obj(body[exception]) : body;
  if (!exception && typeof (raw.message ?? raw.Message ?? raw.__type) !== 'string') return null;
  // "com.amazon.coral.service#ThrottlingException:http://..." names the type in the middle.
  const type = (exception ?? str(raw.__type)).replace(/^.*#|:.*$/g, '');
  return { api: 'bedrock.converse', error: errorFrom(raw, type) };
}
