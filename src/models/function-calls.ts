import { randomBytes } from 'node:crypto';
import { BaseTool, type LlmRequest, type LlmResponse } from '@google/adk';
import type { Content, FunctionCall } from '@google/genai';
import type { ClaimCallId } from '../adk/request-hooks.ts';

export function callsIn(content: Content | undefined): FunctionCall[] {
  return (content?.parts ?? []).flatMap((part) => part.functionCall ?? []);
}

/**
 * Removes the calls from a partial response. Returns undefined when nothing is left. ADK would run the calls of a partial response, and run them again
 * from the final response.
 */
export function withoutCalls(response: LlmResponse): LlmResponse | undefined {
  const parts = response.content?.parts ?? [];
  const [only] = parts;
  if (parts.length === 1 && only && !only.functionCall) return response;
  const kept = parts.filter((part) => !part.functionCall);
  return kept.length > 0 ? { ...response, content: { ...response.content, parts: kept } } : undefined;
}

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

/**
 * Removes the id of each call whose id is in `used`, and adds the other ids to `used`. ADK finds a call by its id alone, so no two calls may share one.
 * ADK gives a new id to a call without one.
 */
export function releaseUsedIds(calls: FunctionCall[], used: Set<string>): void {
  for (const call of calls) {
    if (!call.id) continue;
    if (used.has(call.id)) delete call.id;
    else used.add(call.id);
  }
}

/** Reserves the ids of calls, and removes those that the conversation has used where the model does not see it. Undefined when no call has an id. */
export function releaseTakenIds(
  calls: readonly FunctionCall[],
  claim: ClaimCallId,
): Promise<void> | undefined {
  if (!calls.some(({ id }) => id)) return undefined;
  const release = async (call: FunctionCall) => {
    if (call.id && !(await claim(call.id))) delete call.id;
  };
  return Promise.all(calls.map(release)).then(() => undefined);
}

/** A new id for a call of a live run, in the form that Gemini's live models use. */
export function newCallId(): string {
  return `function-call-${randomBytes(8).readBigUInt64BE().toString().padStart(20, '0')}`;
}

/** Replaces a tool that does not exist. Running it fails with an error that the model reads. */
class UnknownTool extends BaseTool {
  constructor(name: string) {
    super({ name, description: '' });
  }

  override runAsync(): Promise<unknown> {
    return Promise.reject(new Error(`There is no tool named "${this.name}".`));
  }
}

/**
 * Adds an `UnknownTool` for every called tool that does not exist, so that the model reads an error and continues. Without it, ADK ends a live run, and
 * calls the model in an endless loop in any other run.
 */
export function admitUnknownTools(toolsDict: LlmRequest['toolsDict'], calls: Iterable<FunctionCall>): void {
  for (const call of calls) {
    call.name ||= 'unnamed_tool';
    if (Object.hasOwn(toolsDict, call.name)) continue;
    // Use `defineProperty`, because a model may call a tool named `__proto__`: an assignment would replace the prototype of `toolsDict`.
    Object.defineProperty(toolsDict, call.name, {
      value: new UnknownTool(call.name),
      enumerable: false,
      configurable: true,
      writable: true,
    });
  }
}
