import type { Content, FunctionCall, Part } from '@google/genai';
import { noticeOf } from '../notice.ts';

/** How much of a history a new session is told, in characters: the newest of it. */
const MOST = 100_000;

/**
 * What a live session that begins is told of what was said before: texts and pictures, and each call with its result in
 * words, since ids of another session mean nothing to it. Who spoke twice in a row spoke once.
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
  // Sound in a history spoils a session.
  return inlineData?.mimeType?.startsWith('image/') ? [{ inlineData }] : [];
}

function newest(turns: Content[]): Content[] {
  let left = MOST;
  const from = turns.findLastIndex(({ parts = [] }) => {
    left -= parts.reduce((sum, { text = '' }) => sum + text.length, 0);
    return left < 0;
  });
  return turns.slice(from + 1);
}
