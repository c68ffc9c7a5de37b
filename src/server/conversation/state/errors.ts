import { oneLine, withoutKeys } from '../../../models/for-server.ts';
import { ProtocolError } from '../../../protocol/index.ts';
import type { Effect } from './effects.ts';

/** A failure of a run of the agent. */
export interface Failure {
  code: string;
  message: string;
}

/** The report of a failure of the agent, for the log and for clients. */
export interface FailureReport {
  /** The effect that logs the failure. */
  log: Effect;
  /** The error text with which the assistant message ends. */
  text: string;
  /** The error to send instead of `text` when no assistant message can end with it. */
  error: ProtocolError;
  /** Effects that also send clients the error code, if a retry cannot succeed; otherwise empty. */
  code: Effect[];
}

/** The error text of a call that a run of the agent left without a response. */
export const NOT_COMPLETED = 'The call was not completed';

/** The error text of a message whose history could not be completed. */
export const SERVER_FAULT = 'Something went wrong on the server. Please try again.';

/** Returns how a failure of the agent is reported. API keys are removed from the text of the provider. */
export function reportFailure({ code, message }: Failure): FailureReport {
  const words = withoutKeys(oneLine(message));
  const text = modelErrorText(code, words);
  const error = new ProtocolError(modelErrorCode(code), text);
  const data = error.toWire();
  return {
    log: {
      type: 'log',
      level: 'error',
      text: 'the agent failed: see code and message',
      fields: { code, message: words },
    },
    text,
    error,
    code: data.retryable ? [] : [{ type: 'inject', chunk: { type: 'data-error', data, transient: true } }],
  };
}

/** The error for an instruction of the application that would end calls that wait for the user. */
export function waitsForAnswers(): ProtocolError {
  return new ProtocolError(
    'busy',
    'Calls wait for the user, and a turn would end them. Try again when they are answered.',
  );
}

/** The error for a request to continue a message that cannot be continued. */
export function nothingToContinue(): ProtocolError {
  return new ProtocolError(
    'nothing_to_continue',
    'Only the last answer of a conversation can be continued, and only if it was cut off.',
  );
}

/** The error for a request that arrives while the server closes. */
export function shuttingDown(): ProtocolError {
  return new ProtocolError('shutting_down', 'The server is restarting. Try again in a moment.');
}

/** The error for a request that arrives while too many requests of its kind wait. */
export function tooManyWait(what: 'messages' | 'answers'): ProtocolError {
  const text = `Too many ${what} are waiting. Try again in a moment.`;
  return new ProtocolError('busy', text, { retryAfterMs: 2000 });
}

/** The codes of failures that only the operator can repair, with another key, model or setting. */
const OPERATOR_CODES: ReadonlySet<string> = new Set([
  '401',
  '403',
  '404',
  'NO_KEY',
  'NO_CREDENTIALS',
  'SETUP',
]);

/** The wire code of a failure of the model. */
function modelErrorCode(code: string): 'model_error' | 'model_not_configured' {
  return OPERATOR_CODES.has(code) ? 'model_not_configured' : 'model_error';
}

/** The text for the user about a failure of the model: what happened and what to do, without internals and API keys. */
export function modelErrorText(code: string, message: string): string {
  const known = TEXTS[code];
  if (known) return known;
  // The speech recogniser's own text already asks the user to repeat the sentence.
  if (code === 'RECOGNISER_ERROR') return message;
  if (/^5\d\d$/.test(code))
    return `The model provider has a fault or is overloaded (${code}): try again in a moment.`;
  if (/^4\d\d$/.test(code)) return `The model answered with error ${code}. ${message}`.trim();
  if (/^(SAFETY|BLOCKLIST|PROHIBITED_CONTENT|SPII|RECITATION|MODEL_ARMOR|IMAGE_\w+)$/.test(code)) {
    return `The model refused to answer (${spelledOut(code)}): try other words.`;
  }
  if (/^[A-Z][A-Z_]+$/.test(code) && code !== 'UNKNOWN_ERROR' && code !== 'MODEL_ERROR') {
    return `The model stopped: ${spelledOut(code)}.`;
  }
  return 'The agent failed to answer. Please try again.';
}

function spelledOut(code: string): string {
  return code.toLowerCase().replaceAll('_', ' ');
}

const TEXTS: Readonly<Record<string, string>> = {
  '401': 'The model is not configured: the model provider does not accept the key of this server (401).',
  '403': 'The model provider does not let the key of this server use this model (403).',
  '404': 'The model provider does not know the model that this server asks for (404).',
  '429': 'The model is rate limited (429): try again in a moment.',
  QUOTA: 'The quota of this server at the model provider is used up.',
  UNREACHABLE: 'The model provider cannot be reached: try again in a moment.',
  SILENT: 'The model did not answer in time: try again.',
  INCOMPLETE: 'The answer of the model broke off: try again.',
  STORE: 'The conversation cannot be read or stored at the moment: try again in a moment.',
  SETUP: 'The model provider does not accept the settings with which this server opens a live session.',
  UNREADABLE: 'The model sent something that cannot be read: try again.',
  NO_CREDENTIALS: 'The model is not configured: this server has no credentials for the model provider.',
  NO_KEY: 'The model is not configured: this server has no key for the model provider.',
  EMPTY_RESPONSE: 'The model gave no answer. The request may have been blocked; try other words.',
};

/** The error for a request of which no answer has an effect. */
export function nothingCounts(rejected: readonly string[]): ProtocolError {
  if (rejected.length === 0)
    return new ProtocolError('nothing_to_answer', 'The last message answers no call that is open.');
  return new ProtocolError('answer_refused', `The answer was refused: ${rejected.join('; ')}.`);
}
