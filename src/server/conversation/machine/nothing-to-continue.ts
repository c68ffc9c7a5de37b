import { ProtocolError } from '../../../protocol/index.ts';

/** Why a message of the agent is not continued. */
export function nothingToContinue(): ProtocolError {
  return new ProtocolError(
    'nothing_to_continue',
    'This is not the last answer of the conversation, or it was not cut.',
  );
}
