/** What a person is told when the model failed: what happened and what to do, nothing internal, no keys. */
export function modelErrorText(code: string, message: string): string {
  if (code === 'EMPTY_RESPONSE')
    return 'The model gave no answer. The request may have been blocked; try other words.';
  if (code === '429') return `The model is rate limited (429). ${publicPart(message)}`.trim();
  if (/^[45]\d\d$/.test(code)) return `The model answered with error ${code}. ${publicPart(message)}`.trim();
  if (/^[A-Z][A-Z_]+$/.test(code) && code !== 'UNKNOWN_ERROR' && code !== 'MODEL_ERROR') {
    return `The model stopped: ${code.toLowerCase().replaceAll('_', ' ')}.`;
  }
  return 'The agent failed to answer. Please try again.';
}

const SECRET = /\b(sk-|AIza|key=|bearer\s+)[\w\-.~+/]{6,}/gi;

function publicPart(message: string): string {
  return message.replace(SECRET, '$1…').slice(0, 500);
}
