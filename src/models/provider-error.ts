import { errorFrom, errorOf } from '../parse/errors.ts';
import type { WaitingReason } from '../protocol/index.ts';

/** The code of a failed model call: the HTTP status, or one of these. */
export type FailureCode =
  | `${number}`
  /** The account has no credit, or has used up its quota. */
  | 'QUOTA'
  /** The provider cannot be reached. */
  | 'UNREACHABLE'
  /** The provider was silent for too long. */
  | 'SILENT'
  /** The answer was cut off. */
  | 'INCOMPLETE'
  /** No credentials for Google Cloud were found. */
  | 'NO_CREDENTIALS'
  /** No key for the provider is set. */
  | 'NO_KEY'
  /** The provider refuses the setup of a live session. */
  | 'SETUP'
  /** A live API sent a frame that cannot be read. */
  | 'UNREADABLE';

/** The error of a model call that failed at the provider, or on the way to it. Its message contains no key. */
export class ModelFailure extends Error {
  readonly code: FailureCode;
  /** How long the provider asks to wait before the next call; undefined if it does not say. */
  readonly retryAfterMs: number | undefined;

  constructor(code: FailureCode, message: string, retryAfterMs?: number) {
    super(message);
    this.name = 'ModelFailure';
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }

  /** Why the call failed, if another attempt may succeed; undefined when no attempt will. */
  get reason(): WaitingReason | undefined {
    const { code } = this;
    if (code === '429') return 'rate_limited';
    if (code === 'UNREACHABLE' || code === 'INCOMPLETE') return 'unreachable';
    if (code === 'SILENT' || code === '408') return 'silent';
    return Number(code) >= 500 ? 'overloaded' : undefined;
  }
}

/** Converts any error of a model call. Returns a `ModelFailure` if the provider failed, otherwise an `Error`. The message contains no key. */
export function failureOf(error: unknown, secrets: readonly string[] = []): Error {
  if (error instanceof ModelFailure) return error;
  const unwrappedError = unwrapped(error);
  const message = withoutKeys(oneLine(unwrappedError.message), secrets);
  const code = codeOf(error, unwrappedError);
  return code === undefined
    ? new Error(message)
    : new ModelFailure(code, message, retryAfterOf(error, unwrappedError));
}

/** The code and the message of an error, without keys. */
export function failedWith(error: unknown): { code: string; message: string } {
  const failure = failureOf(error);
  return { code: failure instanceof ModelFailure ? failure.code : 'UNKNOWN_ERROR', message: failure.message };
}

/** The message of an error, without keys. */
export function messageOf(error: unknown): string {
  return failureOf(error).message;
}

/** The fields of a provider's error. */
interface ProviderError {
  message: string;
  type: string;
  code: string;
  status: number | undefined;
  retryAfterMs: number | undefined;
}

/** Reads the fields of an error, which is an exception, an exception with JSON in its message, or a plain object of the provider. */
function unwrapped(error: unknown): ProviderError {
  const message = error instanceof Error ? telling(error).message : error;
  const body = typeof message === 'string' ? jsonIn(message) : message;
  const read = typeof body === 'object' && body !== null ? errorOf(body as Record<string, unknown>) : null;
  const found = read?.error ?? errorFrom(body);
  const own = error instanceof Error ? dataOf(error) : null;
  return {
    message: found.message,
    type: own?.type ?? found.type ?? headersOf(error)['x-amzn-errortype'] ?? '',
    code: String(own?.code ?? found.code ?? ''),
    status: statusIn(error) ?? found.status ?? undefined,
    retryAfterMs: own?.retryAfterMs ?? found.retryAfterMs,
  };
}

/** Returns the cause of the AI SDK's generic error "Failed to process successful response", and any other error unchanged. */
function telling(error: Error): Error {
  const isEmpty = error.message === 'Failed to process successful response';
  return isEmpty && error.cause instanceof Error ? error.cause : error;
}

/** The error in the HTTP body that the AI SDK adds to its exceptions; null when there is none. */
function dataOf(error: Error) {
  const { responseBody } = error as { responseBody?: unknown };
  const body = typeof responseBody === 'string' ? jsonIn(responseBody) : null;
  return typeof body === 'object' && body !== null
    ? (errorOf(body as Record<string, unknown>)?.error ?? null)
    : null;
}

function jsonIn(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    // Gemini wraps the error of a stream in a list.
    return Array.isArray(value) ? value[0] : value;
  } catch {
    return text;
  }
}

function statusIn(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { status, statusCode } = error as { status?: unknown; statusCode?: unknown };
  const code = typeof status === 'number' ? status : statusCode;
  return typeof code === 'number' && code >= 400 && code <= 599 ? code : undefined;
}

/** The codes for error names that providers send inside a stream, where there is no HTTP status. */
const NAMED: readonly [RegExp, FailureCode][] = [
  [/overloaded/i, '529'],
  [/rate_limit|throttling|resource_exhausted|too_many_requests/i, '429'],
  [/authentication|invalid_api_key|unrecognizedclient/i, '401'],
  [/permission|accessdenied/i, '403'],
  [/not_found|model_not_found|resourcenotfound/i, '404'],
  [/serviceunavailable|unavailable/i, '503'],
  [/timeout_error|modeltimeout/i, '408'],
  [/api_error|server_error|internalserver|modelstreamerror|internal/i, '500'],
  [/invalid_request|validation|invalid_argument/i, '400'],
];

const NETWORK =
  /fetch failed|terminated|socket hang up|cannot connect to api|other side closed|network error|premature close/i;
const NETWORK_CODE =
  /^(ECONN\w+|ENOTFOUND|EAI_\w+|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|EPIPE|UND_ERR_\w+|CERT_\w+|DEPTH_ZERO_\w+|ERR_SSL\w*|SELF_SIGNED\w*)$/;
const CREDENTIALS =
  /could not load the default credentials|GOOGLE_APPLICATION_CREDENTIALS|unable to detect a project/i;
const NO_KEY =
  /api[ _-]?key (is missing|must be provided|should be set|is required|is not set)|missing (an )?api[ _-]?key|could not resolve authentication method|requires AWS credentials|could not load credentials|setting is missing|needs [A-Z][A-Z0-9_]+ to be set/i;
/** ADK's error for an unknown model name. */
const NO_MODEL = /^Model \S+ not found\.$/;
const BROKEN_STREAM = /incomplete json segment|exception parsing stream chunk|ended without a finish reason/i;

function codeOf(error: unknown, unwrappedError: ProviderError): FailureCode | undefined {
  const { status, type, code, message } = unwrappedError;
  const named = `${type} ${code}`;
  // Google answers a wrong key with the status 400 instead of 401.
  if (/API_KEY_INVALID|api key not valid/i.test(`${message} ${bodyOf(error)}`)) return '401';
  if (isQuota(unwrappedError)) return 'QUOTA';
  if (status !== undefined) return `${status}`;
  if (CREDENTIALS.test(message)) return 'NO_CREDENTIALS';
  if (NO_KEY.test(message)) return 'NO_KEY';
  if (NO_MODEL.test(message)) return '404';
  if (BROKEN_STREAM.test(message)) return 'INCOMPLETE';
  if (isNetwork(error)) return 'UNREACHABLE';
  return NAMED.find(([pattern]) => pattern.test(named))?.[1];
}

/** Whether the quota of the account is used up. Google's error for a rate limit also speaks of a quota, but has a retry delay. */
function isQuota({ type, code, message, status = 429, retryAfterMs }: ProviderError): boolean {
  if (status >= 500 || retryAfterMs !== undefined) return false;
  return (
    /insufficient_quota|billing|quotaexceeded/i.test(`${type} ${code}`) ||
    /credit balance|current quota/i.test(message)
  );
}

function bodyOf(error: unknown): string {
  const { responseBody } = (error ?? {}) as { responseBody?: unknown };
  return typeof responseBody === 'string' ? responseBody : '';
}

function isNetwork(error: unknown): boolean {
  for (let one = error, depth = 0; one instanceof Error && depth < 5; one = one.cause, depth++) {
    const { code } = one as { code?: unknown };
    if (NETWORK.test(one.message) || (typeof code === 'string' && NETWORK_CODE.test(code))) return true;
  }
  return false;
}

/** The HTTP headers that the AI SDK adds to its exceptions. */
function headersOf(error: unknown): Record<string, string> {
  return ((error ?? {}) as { responseHeaders?: Record<string, string> }).responseHeaders ?? {};
}

/** The delay in milliseconds that the provider asks for. It may be a header in seconds, in milliseconds or as a date, or a field of the body. */
function retryAfterOf(error: unknown, unwrappedError: ProviderError): number | undefined {
  const headers = headersOf(error);
  const ms = Number.parseFloat(headers['retry-after-ms'] ?? '');
  if (ms >= 0) return ms;
  const after = headers['retry-after'] ?? '';
  const seconds = Number.parseFloat(after);
  if (seconds >= 0) return seconds * 1000;
  const date = Date.parse(after);
  return Number.isNaN(date) ? unwrappedError.retryAfterMs : Math.max(0, date - Date.now());
}

/** Matches keys of the known providers, and values after words such as `token=`. */
const KEY =
  /(\b(?:sk-|AIza|AQ\.|AKIA|ASIA|ABSK|ya29\.|gsk_|xai-|hf_)|\b(?:bearer|basic)\s+|(?:key|token|secret|credential|signature)["']?\s*[:=]\s*["']?)[\w\-.~+/=*%]{6,}/gi;

const MAX_MESSAGE = 500;

/** Removes keys from a text: the given secrets, and everything that looks like a key. */
export function withoutKeys(text: string, secrets: readonly string[] = []): string {
  let clean = text;
  // A short secret would match ordinary words, and no provider issues such short keys.
  for (const secret of secrets) if (secret.length >= 6) clean = clean.replaceAll(secret, '…');
  return clean.replace(KEY, '$1…');
}

/** Shortens a message of a provider to one line of at most `MAX_MESSAGE` characters. A web page is reduced to its title. */
export function oneLine(text: string): string {
  const isPage = /<(!doctype|html|head|body)\b/i.test(text);
  const title = /<title[^>]*>([^<]*)/i.exec(text)?.[1]?.trim();
  const words = isPage ? (title ? `a web page: ${title}` : 'a web page instead of an answer') : text;
  return words.replace(/\s+/g, ' ').trim().slice(0, MAX_MESSAGE);
}
