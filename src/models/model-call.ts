import type { BaseLlm, LlmRequest, LlmResponse } from '@google/adk';
import type { Content, FunctionCall, Part } from '@google/genai';
import { untilAborted } from './abort.ts';
import { admitUnknownTools } from './unknown-tool.ts';

/**
 * One model call as ADK can take it: partial texts and thoughts, then exactly one final response with every part, the usage
 * and the finish reason. Aborted, it ends without one.
 */
export async function* callModel(
  model: BaseLlm,
  request: LlmRequest,
  stream = false,
  signal?: AbortSignal,
): AsyncGenerator<LlmResponse, void> {
  const final = new FinalResponse();
  // Read before the call: models may change the request.
  const usedIds = callIdsIn(request.contents);
  try {
    for await (const response of untilAborted(model.generateContentAsync(request, stream, signal), signal)) {
      if (!response.partial) {
        final.add(response);
        continue;
      }
      const partial = withoutCalls(response);
      if (!partial) continue;
      final.addPartial(partial);
      if (stream) yield partial;
    }
  } catch (error) {
    if (signal?.aborted) return;
    const status = httpStatusOf(error);
    if (status === undefined) throw error;
    yield final.failed(String(status), messageOf(error));
    return;
  }
  if (signal?.aborted) return;
  const response = final.response();
  const calls = callsIn(response.content);
  if (calls.length > 0) {
    releaseUsedIds(calls, usedIds);
    admitUnknownTools(request.toolsDict, calls);
  }
  yield response;
}

/** Gathers the responses of one call into its only final one. */
class FinalResponse {
  private readonly parts: Part[] = [];
  private readonly tail: LlmResponse = {};
  private thought = '';
  private text = '';

  addPartial(response: LlmResponse): void {
    for (const part of response.content?.parts ?? []) {
      if (part.thought) this.thought += part.text ?? '';
      else this.text += part.text ?? '';
    }
  }

  add(response: LlmResponse): void {
    const { content, partial: _, ...rest } = response;
    for (const part of content?.parts ?? []) {
      if (!isEmpty(part)) this.parts.push(part);
    }
    // ADK takes the finish reason of a response without parts for an error, whatever it is.
    if (rest.errorCode === 'STOP') delete rest.errorCode;
    const fields = Object.entries(rest).filter(([, value]) => value !== undefined && value !== null);
    Object.assign(this.tail, Object.fromEntries(fields));
  }

  response(): LlmResponse {
    const parts = this.withStreamed(this.parts);
    if (parts.length > 0) return { ...this.tail, content: { role: 'model', parts }, partial: false };
    if (this.tail.errorCode) return { ...this.tail, partial: false };
    return {
      ...this.tail,
      errorCode: 'EMPTY_RESPONSE',
      errorMessage: 'The model returned no content. It may have blocked the prompt.',
      partial: false,
    };
  }

  /** What a person has already read stays in the history; calls that came before the failure are not made. */
  failed(errorCode: string, errorMessage: string): LlmResponse {
    const parts = this.withStreamed(this.parts.filter((part) => !part.functionCall));
    return {
      ...this.tail,
      ...(parts.length > 0 ? { content: { role: 'model', parts } } : {}),
      errorCode,
      errorMessage,
      partial: false,
    };
  }

  /** A final response repeats what was streamed; where a model leaves it out, it is put in. */
  private withStreamed(parts: Part[]): Part[] {
    const streamed: Part[] = [];
    if (this.thought && !parts.some((part) => part.text && part.thought)) {
      streamed.push({ text: this.thought, thought: true });
    }
    if (this.text && !parts.some((part) => part.text && !part.thought)) streamed.push({ text: this.text });
    return [...streamed, ...parts];
  }
}

/** The function calls of a content. */
export function callsIn(content: Content | undefined): FunctionCall[] {
  return (content?.parts ?? []).flatMap((part) => part.functionCall ?? []);
}

function isEmpty(part: Part): boolean {
  return part.text === '' && Object.keys(part).every((key) => key === 'text' || key === 'thought');
}

/** A partial response without its calls, if anything is left: ADK runs them even from there, and again from the final response. */
export function withoutCalls(response: LlmResponse): LlmResponse | undefined {
  const parts = response.content?.parts ?? [];
  if (parts.length > 0 && !parts.some((part) => part.functionCall)) return response;
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
function releaseUsedIds(calls: FunctionCall[], used: Set<string>): void {
  for (const call of calls) {
    if (!call.id) continue;
    if (used.has(call.id)) delete call.id;
    else used.add(call.id);
  }
}

function httpStatusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { status, statusCode } = error as { status?: unknown; statusCode?: unknown };
  const code = typeof status === 'number' ? status : statusCode;
  return typeof code === 'number' && code >= 400 && code <= 599 ? code : undefined;
}

/** The provider's own sentence: Google's errors carry it inside the JSON of their message. */
export function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  try {
    const inner: unknown = (JSON.parse(message) as { error?: { message?: unknown } }).error?.message;
    return typeof inner === 'string' ? inner : message;
  } catch {
    return message;
  }
}
