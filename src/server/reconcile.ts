import type { Session as AdkSession } from '@google/adk';
import { getFunctionResponses } from '@google/adk';
import { isSettled, type Message, toolNameOf } from '../protocol/index.ts';
import type { SessionKey, Store } from './store/store.ts';

/**
 * Brings stored messages up to the history: a process that died between a tool's response and the message that shows it
 * left the card open. The history is right.
 */
export async function reconcile(store: Store, key: SessionKey, session: AdkSession): Promise<Message[]> {
  const messages = await store.loadMessages(key);
  const stale = messages.filter((message) =>
    message.parts.some((part) => toolNameOf(part) !== null && 'state' in part && isOpenState(part.state)),
  );
  if (stale.length === 0) return messages;
  const responses = new Map<string, Record<string, unknown>>();
  for (const event of session.events) {
    for (const { id, response } of getFunctionResponses(event)) if (id) responses.set(id, response ?? {});
  }
  for (const message of stale) {
    let changed = false;
    for (const part of message.parts) {
      if (!('toolCallId' in part) || isSettled(part.state)) continue;
      const response = responses.get(part.toolCallId);
      if (!response) continue;
      changed = true;
      const isError = typeof response.error === 'string' && !('success' in response);
      Object.assign(
        part,
        isError
          ? { state: 'output-error', errorText: response.error }
          : { state: 'output-available', output: response },
      );
    }
    if (changed) await store.putMessage(key, message);
  }
  return messages;
}

function isOpenState(state: unknown): boolean {
  return state === 'approval-requested' || state === 'approval-responded' || state === 'input-available';
}
