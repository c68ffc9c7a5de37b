import type { Content } from '@google/genai';

/** ADK's own tool, by which an agent gives the conversation to another. */
export const TRANSFER = 'transfer_to_agent';

/** An agent that a conversation was just handed to speaks first; otherwise history asks for nothing. */
export function endsInTransfer(history: readonly Content[]): boolean {
  return (history.at(-1)?.parts ?? []).some((part) =>
    part.text?.includes(`tool \`${TRANSFER}\` returned result:`),
  );
}
