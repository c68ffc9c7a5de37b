import { inWords, withoutKeys } from '../../../models/for-server.ts';
import { ProtocolError } from '../../../protocol/index.ts';
import type { Effect } from './effects.ts';
import { modelErrorCode, modelErrorText } from './model-error.ts';

/** What went wrong in a run of the agent. */
export interface Failure {
  code: string;
  message: string;
}

/** What the log and the person are told when the agent failed. */
export interface AgentFailure {
  /** The line of the log. */
  note: Effect;
  /** The text that ends the message. */
  text: string;
  /** The error where no message ends with the text. */
  error: ProtocolError;
  /** What clients get beside the text: the code of a failure after which trying again does not help. */
  code: Effect[];
}

export function agentFailure({ code, message }: Failure): AgentFailure {
  const words = withoutKeys(inWords(message));
  const text = modelErrorText(code, words);
  const error = new ProtocolError(modelErrorCode(code), text);
  const data = error.toWire();
  return {
    note: { type: 'note', level: 'error', text: 'the agent failed', fields: { code, message: words } },
    text,
    error,
    code: data.retryable ? [] : [{ type: 'inject', chunk: { type: 'data-error', data, transient: true } }],
  };
}
