import type { Content, FunctionCall, Part } from '@google/genai';
import { noticeOf } from '../prompt-texts.ts';
import { readableLive } from '../text-files.ts';

/** The largest number of characters of the history that a new session gets. Older texts are left out. */
const MAX_CHARACTERS = 100_000;

/** ADK's tool by which an agent hands the conversation to another agent. */
export const TRANSFER = 'transfer_to_agent';

/** Whether a history ends with a transfer. The agent that the conversation was handed to then speaks first. */
export function endsInTransfer(history: readonly Content[]): boolean {
  return (history.at(-1)?.parts ?? []).some((part) =>
    part.text?.includes(`tool \`${TRANSFER}\` returned result:`),
  );
}

/**
 * The history for a new session: texts and pictures, and results of calls as text, because a session does not know the call ids of an earlier
 * session. Consecutive contents of the same role are merged. Contents without any text are left out, and so are the oldest ones beyond
 * `MAX_CHARACTERS`.
 */
export function seedOf(history: readonly Content[]): Content[] {
  const calls = new Map<string, FunctionCall>();
  const turns: Content[] = [];
  for (const { role, parts = [] } of history) {
    for (const { functionCall } of parts) if (functionCall?.id) calls.set(functionCall.id, functionCall);
    const kept = parts.flatMap((part) => replayable(part, calls));
    if (kept.length === 0) continue;
    const isModel = role === 'model' && !parts.some(({ functionResponse }) => functionResponse);
    const last = turns.at(-1);
    if (last && last.role === (isModel ? 'model' : 'user')) last.parts?.push(...kept);
    else turns.push({ role: isModel ? 'model' : 'user', parts: kept });
  }
  return newest(turns.filter(({ parts = [] }) => parts.some(({ text }) => text)));
}

function replayable(part: Part, calls: ReadonlyMap<string, FunctionCall>): Part[] {
  const { text, inlineData, functionResponse } = part;
  if (functionResponse) {
    const { id = '', name = '', response = {} } = functionResponse;
    return [{ text: noticeOf(name, calls.get(id)?.args ?? {}, response) }];
  }
  if (part.thought) return [];
  if (text) return [{ text }];
  // Leave out the recorded speech of the user, which has no name: a session with sound in its history fails. A sound file that the user attached has a
  // name, and is only described.
  if (!inlineData || (inlineData.mimeType?.startsWith('audio/') && !inlineData.displayName)) return [];
  return readableLive({ parts: [{ inlineData }] }).parts ?? [];
}

function newest(turns: Content[]): Content[] {
  let left = MAX_CHARACTERS;
  const from = turns.findLastIndex(({ parts = [] }) => {
    left -= parts.reduce((sum, { text = '' }) => sum + text.length, 0);
    return left < 0;
  });
  return turns.slice(from + 1);
}
