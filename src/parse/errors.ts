import type { ApiDescription } from './api.ts';
import { APIS, type Api } from './apis/index.ts';
import { isObject, type Obj, obj, objects, str, strOrNull } from './json.ts';
import type { ParsedError } from './reading.ts';

/** An error, and the API whose shape it has; null when that could be anyone's. */
export interface ErrorBody {
  api: Api | null;
  error: ParsedError;
}

/** What became of a request of a batch that has no answer. */
const ENDED = { expired: 'expired before it was answered', canceled: 'was cancelled' };

/** The error in a provider's error object, or in a bare message. */
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

/** The error that a body or stream event is, or null when it is none; by shape, never by HTTP status. */
export function errorOf(body: Obj): ErrorBody | null {
  const { error, type } = body;
  if (isObject(error)) {
    if (isObject(error.error)) return errorOf(error);
    const claims = (api: ApiDescription) => api.claimsError?.(body, error);
    return { api: APIS.find(claims)?.api ?? 'openai.chat', error: errorFrom(error) };
  }
  if (type === 'error' || body.object === 'error' || typeof (error ?? body.detail) === 'string')
    return { api: 'openai.chat', error: errorFrom(body) };
  // Anthropic's batches: a request that was not answered.
  if (type === 'expired' || type === 'canceled')
    return {
      api: 'anthropic.messages',
      error: errorFrom({ type, message: `the request of the batch ${ENDED[type]}` }),
    };
  const exception = Object.keys(body).find((key) => key.endsWith('Exception'));
  const raw = exception ? obj(body[exception]) : body;
  if (!exception && typeof (raw.message ?? raw.Message ?? raw.__type) !== 'string') return null;
  // "com.amazon.coral.service#ThrottlingException:http://..." names the type in the middle.
  const name = (exception ?? str(raw.__type)).replace(/^.*#|:.*$/g, '');
  // Only a message is what Bedrock sends without its headers, and many others.
  return { api: name || raw.Message ? 'bedrock.converse' : null, error: errorFrom(raw, name) };
}
