/** Failures that only the operator can repair, with another key, model or setting. */
const OF_THE_OPERATOR: ReadonlySet<string> = new Set([
  '401',
  '403',
  '404',
  'NO_KEY',
  'NO_CREDENTIALS',
  'SETUP',
]);

/** The code of the error that a failure of the model is on the wire. */
export function modelErrorCode(code: string): 'model_error' | 'model_not_configured' {
  return OF_THE_OPERATOR.has(code) ? 'model_not_configured' : 'model_error';
}

/** What a person is told when the model failed: what happened and what to do, nothing internal, no keys. */
export function modelErrorText(code: string, message: string): string {
  const known = WORDS[code];
  if (known) return known;
  // Words of the recogniser for the person, who can say it again.
  if (code === 'RECOGNISER_ERROR') return message;
  if (/^5\d\d$/.test(code))
    return `The model provider has a fault or too much to do (${code}): try again in a moment.`;
  if (/^4\d\d$/.test(code)) return `The model answered with error ${code}. ${message}`.trim();
  if (/^(SAFETY|BLOCKLIST|PROHIBITED_CONTENT|SPII|RECITATION|MODEL_ARMOR|IMAGE_\w+)$/.test(code)) {
    return `The model refused to answer (${spoken(code)}): try other words.`;
  }
  if (/^[A-Z][A-Z_]+$/.test(code) && code !== 'UNKNOWN_ERROR' && code !== 'MODEL_ERROR') {
    return `The model stopped: ${spoken(code)}.`;
  }
  return 'The agent failed to answer. Please try again.';
}

function spoken(code: string): string {
  return code.toLowerCase().replaceAll('_', ' ');
}

const WORDS: Readonly<Record<string, string>> = {
  '401': 'The model is not configured: the model provider does not accept the key of this server (401).',
  '403': 'The model provider does not let the key of this server use this model (403).',
  '404': 'The model provider does not know the model that this server asks for (404).',
  '429': 'The model is rate limited (429): try again in a moment.',
  QUOTA: 'The quota of this server at the model provider is used up.',
  UNREACHABLE: 'The model provider cannot be reached: try again in a moment.',
  SILENT: 'The model did not answer in time: try again.',
  INCOMPLETE: 'The answer of the model broke off: try again.',
  STORE: 'The conversation cannot be read or stored at the moment: try again in a moment.',
  SETUP: 'The model provider does not take the live settings of this server.',
  UNREADABLE: 'The model sent something that cannot be read: try again.',
  NO_CREDENTIALS: 'The model is not configured: this server has no credentials for the model provider.',
  NO_KEY: 'The model is not configured: this server has no key for the model provider.',
  EMPTY_RESPONSE: 'The model gave no answer. The request may have been blocked; try other words.',
};
