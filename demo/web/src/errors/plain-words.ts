import type { Messages } from '../i18n/en.ts';

/** An error as the page shows it to the user. */
export interface PlainError {
  title: string;
  text: string;
  canRetry: boolean;
  /** How many milliseconds after the error a retry may succeed; null when the server named no time. */
  retryAfterMs: number | null;
  details: string;
}

/**
 * Translates an error of the chat into words for the user. `about` is what the user was doing: sending a message, or
 * opening a conversation.
 */
export function plainError(
  error: Error,
  messages: Messages['errors'],
  about: 'message' | 'conversation' = 'message',
): PlainError {
  const { code, retryAfterMs } = error as { code?: unknown; retryAfterMs?: unknown };
  const [title, text, canRetry] = meaning(typeof code === 'string' ? code : null, error, messages);
  const isKept = about === 'message' && [messages.rateText, messages.lostText].includes(text);
  return {
    title,
    text: isKept ? `${text}${messages.kept}` : text,
    canRetry,
    retryAfterMs: typeof retryAfterMs === 'number' ? retryAfterMs : null,
    details: typeof code === 'string' ? `${code}: ${error.message}` : error.message,
  };
}

function meaning(code: string | null, error: Error, m: Messages['errors']): [string, string, boolean] {
  switch (code) {
    case 'rate_limited':
    case 'flooded':
      return [m.rateTitle, m.rateText, true];
    case 'busy':
      return [m.busyTitle, m.busyText, true];
    case 'too_slow':
    case 'idle':
      return [m.slowTitle, m.slowText, true];
    case 'cut_off':
      return [m.cutTitle, m.cutStoredText, true];
    case 'model_error':
      return stopped(error, m);
    case 'model_not_configured':
      return [m.unconfiguredTitle, m.texts(error.message) || m.unconfiguredText, false];
    case 'internal':
      return [m.serverTitle, m.serverText, true];
    case 'moved':
    case 'shutting_down':
      return [m.restartTitle, m.restartText, true];
    case 'taken_over':
      return [m.elsewhereTitle, m.elsewhereText, true];
    case 'unauthorized':
    case 'forbidden':
      return [m.accessTitle, m.accessText, false];
    case 'upgrade_required':
      return [m.socketTitle, m.socketText, true];
    case 'not_found':
      // The client uses this code for a deleted conversation, and for an address without a Duologue server.
      if (error.message.startsWith('There is no Duologue server'))
        return [m.nowhereTitle, m.nowhereText, false];
      return [m.missingTitle, m.missingText, false];
    case 'bad_image':
    case 'bad_file':
    case 'unsupported_media':
      return [m.pictureTitle, m.pictureText, false];
    case 'session_full':
      return [m.fullTitle, m.fullText, false];
    case 'too_large':
      return [m.largeTitle, m.largeText, false];
    case 'nothing_to_answer':
    case 'answer_refused':
      return [m.answerTitle, m.answerText, false];
    case null:
      break;
    default:
      return [m.refusedTitle, m.refusedText, false];
  }
  // An error of the network has no code. The client reports with this text that the server lost the rest of a
  // response.
  if (error instanceof TypeError && error.message.includes('the rest of the response is gone')) {
    return [m.cutTitle, m.cutText, true];
  }
  if (error instanceof TypeError) return [m.lostTitle, m.lostText, true];
  // An error inside a message has a text and no code. A missing key cannot be repaired by trying again.
  if (error.message.startsWith('The model is not configured')) {
    return meaning('model_not_configured', error, m);
  }
  return stopped(error, m);
}

/** The title and the text for an error inside a message. The text of the server is written for users. */
function stopped({ message }: Error, m: Messages['errors']): [string, string, boolean] {
  const isOfServer = /^(The conversation cannot be read or stored|Something went wrong on the server)/.test(
    message,
  );
  if (isOfServer) return [m.serverTitle, m.serverText, true];
  return [m.modelTitle, m.texts(message) || m.modelText, true];
}
