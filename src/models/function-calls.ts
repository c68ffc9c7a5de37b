import type { LlmResponse } from '@google/adk';
import type { Content, FunctionCall } from '@google/genai';

/** The function calls of a content. */
export function callsIn(content: Content | undefined): FunctionCall[] {
  return (content?.parts ?? []).flatMap((part) => part.functionCall ?? []);
}

/** A partial response without its calls, if anything is left: ADK runs them even from there, and again from the final response. */
export function withoutCalls(response: LlmResponse): LlmResponse | undefined {
  const parts = response.content?.parts ?? [];
  const [only] = parts;
  if (parts.length === 1 && only && !only.functionCall) return response;
  const kept = parts.filter((part) => !part.functionCall);
  return kept.length > 0 ? { ...response, content: { ...response.content, parts: kept } } : undefined;
}

/** The ids of all calls in a conversation. */
export function callIdsIn(contents: Content[]): Set<string> {
  const ids = new Set<string>();
  for (const content of contents) {
    for (const part of content.parts ?? []) {
      const id = part.functionCall?.id;
      if (id) ids.add(id);
    }
  }
  return ids;
}

/** ADK finds a call by its id alone: one that was used before is taken away, and ADK gives its own. */
export function releaseUsedIds(calls: FunctionCall[], used: Set<string>): void {
  for (const call of calls) {
    if (!call.id) continue;
    if (used.has(call.id)) delete call.id;
    else used.add(call.id);
  }
}
