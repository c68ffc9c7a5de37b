import { inWords, withoutKeys } from '../../../models/for-server.ts';
import type { Effect } from './effects.ts';
import { modelErrorText } from './model-error.ts';

/** What went wrong in a run of the agent. */
export interface Failure {
  code: string;
  message: string;
}

/** What the log and the person are told when the agent failed. */
export function agentFailure({ code, message }: Failure): { note: Effect; text: string } {
  const words = withoutKeys(inWords(message));
  return {
    note: { type: 'note', level: 'error', text: 'the agent failed', fields: { code, message: words } },
    text: modelErrorText(code, words),
  };
}
