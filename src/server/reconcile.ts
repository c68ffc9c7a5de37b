import type { Session as AdkSession } from '@google/adk';
import { getFunctionResponses } from '@google/adk';
import { type Chunk, isSettled, type Message, MessageFold, toolNameOf } from '../protocol/index.ts';
import type { SessionKey, Store } from './store/store.ts';

/**
 * Brings stored messages up to the history: a process that died between a tool's response and the message that shows it
 * left the card open. The history is right. Gives the messages as they then are.
 */
export async function reconcile(store: Store, key: SessionKey, session: AdkSession): Promise<Message[]> {
  const messages = await store.loadMessages(key);
  for (const message of messages) {
    const missed = missedOutputs(message, session, { get: () => undefined });
    if (missed.length === 0) continue;
    const fold = new MessageFold(message);
    for (const chunk of missed) fold.push(chunk);
    await store.putMessage(key, message);
  }
  return messages;
}

/** The outputs that a message does not show though the history has them; of calls that still wait there are none. */
export function missedOutputs(
  message: Message,
  session: AdkSession,
  waiting: { get(id: string): unknown },
): Chunk[] {
  const open = new Set(
    message.parts.flatMap((part) => {
      const isOpen = toolNameOf(part) !== null && 'toolCallId' in part && !isSettled(part.state);
      return isOpen && !waiting.get(part.toolCallId) ? [part.toolCallId] : [];
    }),
  );
  if (open.size === 0) return [];
  return session.events.flatMap((event) =>
    getFunctionResponses(event).flatMap(({ id = '', response = {} }) =>
      open.delete(id) ? [outputChunk(id, response, event.customMetadata ?? {})] : [],
    ),
  );
}

/** What a response of the history looks like in a message. The event of a deferred call says how it was meant. */
function outputChunk(
  toolCallId: string,
  response: Record<string, unknown>,
  { settled, wrapped }: Record<string, unknown>,
): Chunk {
  const looksFailed = typeof response.error === 'string' && Object.keys(response).length === 1;
  if (settled === undefined ? looksFailed : settled !== 'output') {
    return { type: 'tool-output-error', toolCallId, errorText: String(response.error) };
  }
  const output = wrapped === true ? (response.results ?? response.result ?? null) : response;
  return { type: 'tool-output-available', toolCallId, output };
}
