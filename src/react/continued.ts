import type { Message } from '../protocol/chunks.ts';

/** The message that `sendMessage()` without a message goes on with: the last that shows a decision, else the last of all. */
export function continued(messages: readonly Message[]): Message | undefined {
  const responded = messages.findLast(({ parts }) =>
    parts.some((part) => 'toolCallId' in part && part.state === 'approval-responded'),
  );
  return responded ?? messages.at(-1);
}
