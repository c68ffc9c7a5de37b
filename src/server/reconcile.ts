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
  const unheard = lastWords(messages, session);
  if (unheard) await store.putMessage(key, unheard);
  return messages;
}

/**
 * The last message with words that the history has and it does not: the process died when ADK had kept them. Null when it
 * has them all, or when the two do not go together.
 */
function lastWords(messages: Message[], session: AdkSession): Message | null {
  const message = messages.at(-1);
  const asked = messages.findLast(({ role }) => role === 'user');
  if (!asked || message?.role !== 'assistant') return null;
  const from = session.events.findLastIndex(
    (event) => event.customMetadata?.messageId === asked.id && event.author === 'user',
  );
  if (from === -1) return null;
  const said = session.events
    .slice(from + 1)
    .flatMap((event) => (event.content?.role === 'model' ? (event.content.parts ?? []) : []))
    .map((part) => (part.thought ? '' : (part.text ?? '')))
    .join('');
  const shown = message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  if (said.length <= shown.length || !said.startsWith(shown)) return null;
  message.parts.push({ type: 'text', text: said.slice(shown.length), state: 'done' });
  return message;
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
