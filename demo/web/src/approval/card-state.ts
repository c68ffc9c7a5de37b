import {
  APPROVAL_TIMED_OUT,
  CONFIRMATION_TOOL,
  INTERRUPTED,
  OUTCOME_UNKNOWN,
  SUPERSEDED,
  toolTimedOut,
} from 'duologue/protocol';
import { fields, type ToolPart, toolName } from '../tools/tool-part.ts';

/** The state that an approval card shows. */
export type CardState =
  | 'requested'
  | 'processing'
  | 'denying'
  | 'approved'
  | 'done'
  | 'denied'
  | 'expired'
  | 'cancelled'
  | 'failed'
  | 'unknown';

/** Whether the state of a card is final. */
export function isSettled(state: CardState): boolean {
  return state !== 'requested' && state !== 'processing' && state !== 'denying';
}

/** Whether a call is shown as an approval card. A call that asked once stays a card afterwards. */
export function isApprovalCard(part: ToolPart): boolean {
  if (toolName(part) === CONFIRMATION_TOOL) return part.state !== 'input-streaming';
  return part.approval !== undefined;
}

/** Whether an approved call took effect, or may have. Removing its message does not undo that. */
export function hasLasted(part: ToolPart): boolean {
  return isApprovalCard(part) && ['done', 'approved', 'unknown'].includes(cardStateOf(part));
}

/** The state of the card of a call. */
export function cardStateOf(part: ToolPart): CardState {
  if (toolName(part) === CONFIRMATION_TOOL) return confirmationState(part);
  switch (part.state) {
    case 'input-streaming':
    case 'input-available':
      // An approved call of a browser tool returns to `input-available` while the browser runs the tool.
      return part.approval?.approved === true ? 'processing' : 'requested';
    case 'approval-requested':
      return 'requested';
    case 'approval-responded':
      return part.approval?.approved === true ? 'processing' : 'denying';
    case 'output-available':
      return part.preliminary === true ? 'processing' : 'done';
    case 'output-denied':
      return 'denied';
    case 'output-error':
      return endOf(part);
  }
}

function confirmationState(part: ToolPart): CardState {
  if (part.state === 'output-available') {
    return fields(part.output).confirmed === true ? 'approved' : 'denied';
  }
  return part.state === 'output-error' ? endOf(part) : 'requested';
}

function endOf(part: ToolPart): CardState {
  const { errorText = '' } = part;
  if (errorText.startsWith('User denied the tool call')) return 'denied';
  switch (errorText) {
    case APPROVAL_TIMED_OUT:
      return 'expired';
    case OUTCOME_UNKNOWN:
    case toolTimedOut(toolName(part)):
      return 'unknown';
    case SUPERSEDED:
    case INTERRUPTED:
      // The tool of an approved call may have been running, and is not undone.
      return part.approval?.approved === true ? 'unknown' : 'cancelled';
    default:
      return 'failed';
  }
}
