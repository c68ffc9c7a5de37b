import { declinedText, INTERRUPTED, QUESTION_TIMED_OUT, SIGNED_OUT, SUPERSEDED } from 'duologue/protocol';
import type { ToolPart } from '../tools/tool-part.ts';

/** The state that the card of a question shows. */
export type QuestionState = 'asking' | 'answered' | 'declined' | 'expired' | 'cancelled' | 'failed';

/** Whether a call is a question of the agent. Its output is the answer. */
export function isQuestionCard(part: ToolPart): boolean {
  return part.toolMetadata?.question !== undefined && part.state !== 'input-streaming';
}

/** The state of the card of a question, from the state of its call. */
export function questionStateOf({ state, errorText = '' }: ToolPart): QuestionState {
  if (state === 'output-available') return 'answered';
  if (state !== 'output-error') return 'asking';
  if (errorText.startsWith(declinedText())) return 'declined';
  switch (errorText) {
    case QUESTION_TIMED_OUT:
      return 'expired';
    case SUPERSEDED:
    case INTERRUPTED:
    case SIGNED_OUT:
      return 'cancelled';
    default:
      return 'failed';
  }
}
