import type { BaseLlmConnection, LlmRequest, LlmResponse } from '@google/adk';
import type { Content, FunctionResponse } from '@google/genai';
import { liveFactsOf, withLiveFacts } from '../../adk/live-facts.ts';
import { takeClaim } from '../../adk/request-hooks.ts';
import { admitUnknownTools, callIdsIn, callsIn, newCallId, withoutCalls } from '../function-calls.ts';

/**
 * Makes a live connection of a model safe for ADK: a call of a tool that does not exist gets an error instead of ending the run,
 * calls in partial responses are dropped, and every call has a unique id. The model sees only its own ids.
 */
export function guardConnection(connection: BaseLlmConnection, request: LlmRequest): BaseLlmConnection {
  const used = callIdsIn(request.contents);
  const claim = takeClaim(request) ?? (async () => true);
  /** Maps the new id of a call to the id that the model gave it; undefined when the model gave none. */
  const replaced = new Map<string, string | undefined>();

  const withOwnId = (response: FunctionResponse): FunctionResponse => {
    if (response.id === undefined || !replaced.has(response.id)) return response;
    const own = replaced.get(response.id);
    const { id: _, ...rest } = response;
    return own === undefined ? rest : { ...rest, id: own };
  };

  /** Replaces the model's ids of cancelled calls by the ids that ADK knows. If the model used an id twice, it cancels the newest call with this id. */
  const withGivenIds = (response: LlmResponse): LlmResponse => {
    const facts = liveFactsOf(response);
    if (!facts.cancelledCalls || replaced.size === 0) return response;
    const cancelledCalls = facts.cancelledCalls.map(
      (id) => [...replaced].findLast(([, own]) => own === id)?.[0] ?? id,
    );
    return { ...response, ...withLiveFacts({ ...facts, cancelledCalls }) };
  };

  async function* receive(): AsyncGenerator<LlmResponse, void, void> {
    for await (const response of connection.receive()) {
      const calls = callsIn(response.content);
      if (calls.length > 0 && response.partial) {
        const rest = withoutCalls(response);
        if (rest) yield rest;
        continue;
      }
      admitUnknownTools(request.toolsDict, calls);
      for (const call of calls) {
        if (!call.id || used.has(call.id) || !(await claim(call.id))) {
          const id = newCallId();
          replaced.set(id, call.id);
          call.id = id;
        }
        used.add(call.id);
      }
      yield withGivenIds(response);
    }
  }

  return {
    receive,
    sendHistory: (history) => connection.sendHistory(history),
    sendContent: (content) => connection.sendContent(mapResponses(content, withOwnId)),
    sendRealtime: (blob) => connection.sendRealtime(blob),
    sendActivityStart: async () => connection.sendActivityStart?.(),
    sendActivityEnd: async () => connection.sendActivityEnd?.(),
    close: () => connection.close(),
  };
}

function mapResponses(content: Content, map: (response: FunctionResponse) => FunctionResponse): Content {
  if (!content.parts?.some((part) => part.functionResponse)) return content;
  return {
    ...content,
    parts: content.parts.map((part) =>
      part.functionResponse ? { ...part, functionResponse: map(part.functionResponse) } : part,
    ),
  };
}
