import { createEvent, type Event, getFunctionCalls, getFunctionResponses } from '@google/adk';
import { isSettled, type Message, MessageFold, OUTCOME_UNKNOWN, toolNameOf } from '../protocol/index.ts';
import { isStreaming, missedOutputs, wordsIn, wordsSince } from './reconcile.ts';
import type { Session } from './session.ts';

/**
 * Ends what a process that died left in the middle: the draft of a message is what was said of it, and is marked as
 * interrupted, as after a stop. Its calls that nobody will answer end too, and the history gets the words that it lacks.
 */
export async function endCutOff(session: Session, messages: readonly Message[]): Promise<void> {
  const { store } = session.engine;
  const events = (await session.history.load()).events;
  for (const message of messages) {
    const isLast = message === messages.at(-1);
    if (message.role !== 'assistant' || !isCutOff(message, session, isLast ? events : [])) continue;
    for (const part of message.parts) if (isStreaming(part)) part.state = 'done';
    const waits = session.calls.isWaitingIn(message.id);
    if (!waits) {
      await session.closeDangling(OUTCOME_UNKNOWN);
      const fold = new MessageFold(message);
      for (const chunk of missedOutputs(message, await session.history.load(), session.calls))
        fold.push(chunk);
      fold.push({ type: 'message-metadata', messageMetadata: { interrupted: true } });
    }
    await store.putMessage(session.key, message);
  }
  await keepWords(session, messages);
}

/** The model knows what it said before it was interrupted, though ADK keeps only what comes to its end. */
async function keepWords(session: Session, messages: readonly Message[]): Promise<void> {
  const message = messages.at(-1);
  if (message?.role !== 'assistant' || message.metadata?.interrupted !== true) return;
  const said = wordsSince(messages, (await session.history.load()).events);
  const shown = wordsIn(message);
  if (said === null || said.length >= shown.length || !shown.startsWith(said)) return;
  await session.history.append(
    createEvent({
      author: session.engine.rootAgent.name,
      content: { role: 'model', parts: [{ text: shown.slice(said.length) }] },
      customMetadata: { messageId: message.id },
    }),
  );
}

/** Whether a message was being written when its process died. `events`: the history, if it is the last message. */
function isCutOff(message: Message, { calls }: Session, events: readonly Event[]): boolean {
  if (message.parts.some(isStreaming)) return true;
  const isWaiting = (id: string) => calls.all.some((call) => call.id === id || call.approvalId === id);
  const isLeftOpen = message.parts.some(
    (part) =>
      toolNameOf(part) !== null &&
      'toolCallId' in part &&
      !isSettled(part.state) &&
      !isWaiting(part.toolCallId),
  );
  if (isLeftOpen) return true;
  // Its tools are done, and nothing was said after them. What ended once, at a card, is gone on with by its answer.
  const last = events.findLast((event) => event.content?.parts?.length);
  const isMidway =
    last !== undefined && getFunctionCalls(last).length + getFunctionResponses(last).length > 0;
  return isMidway && message.metadata?.usage === undefined && !calls.areOpenIn(message.id);
}
