import type { Call, Conversation, Turn } from './conversation.ts';
import { outcomeOf, type Settled } from './results/outcome.ts';

/** The calls of one tool in the order they were made. */
export function callsOf(turns: readonly Turn[], tool: string): Call[] {
  return turns.flatMap((turn) => turn.calls).filter((call) => call.name === tool);
}

/** Calls that still wait for the person. */
export function waitingCalls(conversation: Conversation): Settled[] {
  return conversation.turns
    .flatMap((turn) => turn.calls)
    .map((call) => ({ call, outcome: outcomeOf(call) }))
    .filter(({ outcome }) => outcome.kind === 'pending');
}

/** The last turns, the newest last, without the one being answered. */
export function earlierTurns(conversation: Conversation, most = 30): Turn[] {
  return conversation.turns.slice(0, -1).slice(-most);
}

/** The turn before the one being answered. */
export function previousTurn(conversation: Conversation): Turn | undefined {
  return conversation.turns.at(-2);
}
