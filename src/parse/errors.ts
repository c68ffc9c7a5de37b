import type { ApiDescription } from './api.ts';
import { APIS, type Api } from './apis/index.ts';
import { isObject, type Obj, obj, objects, str, strOrNull } from './json.ts';
import type { ParsedError } from './reading.ts';

/** An error and its API. The API is null when the shape of the error does not show it. */
export interface ErrorBody {
  api: Api | null;
  error: ParsedError;
}

/** Why a request of an Anthropic batch has no response. */
const ENDED = { expired: 'expired before it was answered', canceled: 'was cancelled' };

/**
 * Reads a provider's error object or error text.
 *
 * @param raw The error object, or its message.
 * @param named The error type, where it is outside the object.
 */
export function errorFrom(raw: unknown, named?: string): ParsedError {
  const e = obj(raw);
  const { code } = e;
  const type = named || (e.type ?? e.status ?? e.__type);
  const status = typeof code === 'number' ? code : e.status;
  const error: ParsedError = {
    type: type === 'error' ? null : strOrNull(type),
    code: typeof code === 'number' ? code : strOrNull(code),
    message: str(raw) || str(e.message ?? e.Message ?? e.errorMessage ?? e.error ?? e.detail) || 'no message',
    status: typeof status === 'number' && status >= 100 && status < 600 ? status : null,
  };
  const delay = objects(e.details).find((detail) => detail.retryDelay);
  if (delay) error.retryAfterMs = Math.round(Number.parseFloat(str(delay.retryDelay)) * 1000) || 0;
  return error;
}

/** Returns the error that a body or stream event reports; null when it reports none. */
export function errorOf(body: Obj): ErrorBody | null {
  const { error, type } = body;
  if (isObject(error)) {
    if (isObject(error.error)) return errorOf(error);
    const claims = (api: ApiDescription) => api.claimsError?.(body, error);
    return { api: APIS.find(claims)?.api ?? 'openai.chat', error: errorFrom(error) };
  }
  if (type === 'error' || body.object === 'error' || typeof (error ?? body.detail) === 'string')
    return { api: 'openai.chat', error: errorFrom(body) };
  // In an Anthropic batch, the result of a request that was never answered has one of these types. An `errored` result has an error object, which was read
  // above.
  if (type === 'expired' || type === 'canceled')
    return {
      api: 'anthropic.messages',
      error: errorFrom({ type, message: `the request of the batch ${ENDED[type]}` }),
    };
  const exception = Object.keys(body).find((key) => key.endsWith('Exception'));
  const raw = exception ? obj(body[exception]) : body;
  if (!exception && typeof (raw.message ?? raw.Message ?? raw.__type) !== 'string') return null;
  // AWS may send the type inside a longer text: "com.amazon.coral.service#ThrottlingException:http://…".
  const name = (exception ?? str(raw.__type)).replace(/^.*#|:.*$/g, '');
  // Bedrock, Cohere and many other services send objects with only a `message`, so the API of such an object is not known.
  return { api: name || raw.Message ? 'bedrock.converse' : null, error: errorFrom(raw, name) };
}
