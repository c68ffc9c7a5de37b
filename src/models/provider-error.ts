import { errorFrom, errorOf } from '../parse/errors.ts';
import type { WaitingReason } from '../protocol/index.ts';

/** What a failed model call is known by: the HTTP status, or one of the codes below. */
export type FailureCode =
  | `${number}`
  /** The account has no money, or has used up what it may. */
  | 'QUOTA'
  /** There is no way to the provider. */
  | 'UNREACHABLE'
  /** It said nothing for too long. */
  | 'SILENT'
  /** The answer ended before its end. */
  | 'INCOMPLETE'
  /** There is nothing that tells who asks. */
  | 'NO_CREDENTIALS'
  /** No key for the provider is set. */
  | 'NO_KEY'
  /** It does not take the settings of a live session. */
  | 'SETUP'
  /** It sent something that is no message. */
  | 'UNREADABLE';

/** A model call that failed because of the provider, or on the way to it. Its message holds no key. */
export class ModelFailure extends Error {
  readonly code: FailureCode;
  /** When the provider will listen again, if it said so. */
  readonly retryAfterMs: number | undefined;

  constructor(code: FailureCode, message: string, retryAfterMs?: number) {
    super(message);
    this.name = 'ModelFailure';
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }

  /** Why another try may work; undefined when it will not. */
  get reason(): WaitingReason | undefined {
    const { code } = this;
    if (code === '429') return 'rate_limited';
    if (code === 'UNREACHABLE' || code === 'INCOMPLETE') return 'unreachable';
    if (code === 'SILENT' || code === '408') return 'silent';
    return Number(code) >= 500 ? 'overloaded' : undefined;
  }
}

/** What went wrong in a call, in words without keys: a failure of the provider where it is one. */
export function failureOf(error: unknown, secrets: readonly string[] = []): Error {
  if (error instanceof ModelFailure) return error;
  const said = saidBy(error);
  const message = withoutKeys(inWords(said.message), secrets);
  const code = codeOf(error, said);
  return code === undefined ? new Error(message) : new ModelFailure(code, message, retryAfterOf(error, said));
}

/** What an error is known by, and what it says. */
export function failedWith(error: unknown): { code: string; message: string } {
  const failure = failureOf(error);
  return { code: failure instanceof ModelFailure ? failure.code : 'UNKNOWN_ERROR', message: failure.message };
}

/** The sentence that an error says, without keys. */
export function messageOf(error: unknown): string {
  return failureOf(error).message;
}

/** What a provider said, taken out of whatever it is wrapped in. */
interface Said {
  message: string;
  type: string;
  code: string;
  status: number | undefined;
  retryAfterMs: number | undefined;
}

/** Providers say the same in an exception, in JSON inside the message of one, and in an object that is none. */
function saidBy(error: unknown): Said {
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

/** What is behind an error that only says that there was one. */
function telling(error: Error): Error {
  const isEmpty = error.message === 'Failed to process successful response';
  return isEmpty && error.cause instanceof Error ? error.cause : error;
}

/** The body that the AI SDK keeps beside the message. */
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

/** What the names in a stream mean, which has no status of its own. */
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
/** What ADK says of a name that it knows no model for. */
const NO_MODEL = /^Model \S+ not found\.$/;
const BROKEN_STREAM = /incomplete json segment|exception parsing stream chunk|ended without a finish reason/i;

function codeOf(error: unknown, said: Said): FailureCode | undefined {
  const { status, type, code, message } = said;
  const named = `${type} ${code}`;
  // A wrong key is 400 at Google.
  if (/API_KEY_INVALID|api key not valid/i.test(`${message} ${bodyOf(error)}`)) return '401';
  if (isQuota(said)) return 'QUOTA';
  if (status !== undefined) return `${status}`;
  if (CREDENTIALS.test(message)) return 'NO_CREDENTIALS';
  if (NO_KEY.test(message)) return 'NO_KEY';
  if (NO_MODEL.test(message)) return '404';
  if (BROKEN_STREAM.test(message)) return 'INCOMPLETE';
  if (isNetwork(error)) return 'UNREACHABLE';
  return NAMED.find(([pattern]) => pattern.test(named))?.[1];
}

/** Google says quota for every limit, and then when to come back. */
function isQuota({ type, code, message, status = 429, retryAfterMs }: Said): boolean {
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

/** The headers that the AI SDK keeps beside an error. */
function headersOf(error: unknown): Record<string, string> {
  return ((error ?? {}) as { responseHeaders?: Record<string, string> }).responseHeaders ?? {};
}

/** When to come back: a header in seconds, milliseconds or as a date, or a detail of the body. */
function retryAfterOf(error: unknown, said: Said): number | undefined {
  const headers = headersOf(error);
  const ms = Number.parseFloat(headers['retry-after-ms'] ?? '');
  if (ms >= 0) return ms;
  const after = headers['retry-after'] ?? '';
  const seconds = Number.parseFloat(after);
  if (seconds >= 0) return seconds * 1000;
  const date = Date.parse(after);
  return Number.isNaN(date) ? said.retryAfterMs : Math.max(0, date - Date.now());
}

/** Keys of the known providers, and words that stand before one. */
const KEY =
  /(\b(?:sk-|AIza|AQ\.|AKIA|ASIA|ABSK|ya29\.|gsk_|xai-|hf_)|\b(?:bearer|basic)\s+|(?:key|token|secret|credential|signature)["']?\s*[:=]\s*["']?)[\w\-.~+/=*%]{6,}/gi;

const MAX_MESSAGE = 500;

/** Removes keys from a text: the given secrets, and everything that looks like a key. */
export function withoutKeys(text: string, secrets: readonly string[] = []): string {
  let clean = text;
  // A short secret would match ordinary words. No provider issues one.
  for (const secret of secrets) if (secret.length >= 6) clean = clean.replaceAll(secret, '…');
  return clean.replace(KEY, '$1…');
}

/** A message of a provider as one line: the title of a web page, the beginning of a long text. */
export function inWords(text: string): string {
  const isPage = /<(!doctype|html|head|body)\b/i.test(text);
  const title = /<title[^>]*>([^<]*)/i.exec(text)?.[1]?.trim();
  const words = isPage ? (title ? `a web page: ${title}` : 'a web page instead of an answer') : text;
  return words.replace(/\s+/g, ' ').trim().slice(0, MAX_MESSAGE);
}
