import type { Session as AdkSession, Event } from '@google/adk';
import { createEvent, getFunctionResponses } from '@google/adk';
import { type Chunk, isSettled, type Message, MessageFold, toolNameOf } from '../../protocol/index.ts';
import type { OwnedKey, Store } from '../store/store.ts';
import type { History } from './history.ts';

/**
 * Brings stored messages up to the history: a process that died between a tool's response and the message that shows it
 * left the card open. The history is right.
 */
export async function reconcile(
  store: Store,
  key: OwnedKey,
  messages: Message[],
  session: AdkSession,
): Promise<void> {
  for (const message of messages) {
    const missed = missedOutputs(message, session, new Set());
    if (missed.length === 0) continue;
    const fold = new MessageFold(message);
    for (const chunk of missed) fold.push(chunk);
    await store.putMessage(key, message);
  }
  const unheard = lastWords(messages, session);
  if (unheard) await store.putMessage(key, unheard);
}

/**
 * The last message with words that the history has and it does not: the process died when ADK had kept them. Null when it
 * has them all, or when the two do not go together.
 */
function lastWords(messages: Message[], session: AdkSession): Message | null {
  const message = messages.at(-1);
  if (message?.role !== 'assistant') return null;
  const said = wordsSince(messages, session.events);
  const shown = wordsIn(message);
  if (said === null || said.length < shown.length || !said.startsWith(shown)) return null;
  const rest = said.slice(shown.length);
  const last = message.parts.findLast((part) => part.type === 'text');
  if (last && last === message.parts.at(-1) && last.state === 'streaming') last.text += rest;
  else if (rest) message.parts.push({ type: 'text', text: rest, state: 'done' });
  else return null;
  for (const part of message.parts) if (isStreaming(part)) part.state = 'done';
  return message;
}

/** Whether a part is text or reasoning that was being written. */
export function isStreaming(
  part: Message['parts'][number],
): part is Extract<Message['parts'][number], { type: 'text' | 'reasoning' }> {
  return (part.type === 'text' || part.type === 'reasoning') && part.state === 'streaming';
}

/** The words of a message. */
function wordsIn(message: Message): string {
  return message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** What the agent said since the person's last message, as the history has it; null when that message is not in it. */
function wordsSince(messages: readonly Message[], events: readonly Event[]): string | null {
  const asked = messages.findLast(({ role }) => role === 'user');
  const from = events.findLastIndex(
    (event) => event.author === 'user' && event.customMetadata?.messageId === asked?.id,
  );
  if (!asked || from === -1) return null;
  return events
    .slice(from + 1)
    .flatMap((event) => (event.content?.role === 'model' ? (event.content.parts ?? []) : []))
    .map((part) => (part.thought ? '' : (part.text ?? '')))
    .join('');
}

/** Adds the missing words of the last message to the history: ADK keeps only responses that were completed. */
export async function keepWords(
  history: History,
  author: string,
  messages: readonly Message[],
): Promise<void> {
  const message = messages.at(-1);
  if (message?.role !== 'assistant') return;
  const said = wordsSince(messages, (await history.load()).events);
  const shown = wordsIn(message);
  if (said === null || said.length >= shown.length || !shown.startsWith(said)) return;
  await history.append(
    createEvent({
      author,
      content: { role: 'model', parts: [{ text: shown.slice(said.length) }] },
      customMetadata: { messageId: message.id },
    }),
  );
}

/** Whether a message of the agent can be continued: it has parts, and ended before the agent had finished it. */
export function wasCut({ role, parts, metadata = {} }: Message): boolean {
  const { interrupted, failed, finishReason } = metadata;
  const isCut = interrupted || failed || finishReason === 'length' || finishReason === 'content-filter';
  return role === 'assistant' && parts.length > 0 && isCut === true;
}

/** The outputs that the history has and the message does not show yet. Calls that still wait are left out. */
export function missedOutputs(
  message: Message,
  session: AdkSession,
  waiting: { has(id: string): boolean },
): Chunk[] {
  const open = new Set(
    message.parts.flatMap((part) => {
      const isOpen = toolNameOf(part) !== null && 'toolCallId' in part && !isSettled(part.state);
      return isOpen && !waiting.has(part.toolCallId) ? [part.toolCallId] : [];
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
