import type { LlmRequest, LlmResponse } from '@google/adk';
import { SAMPLE_TEXTS } from '../../../demo/server/sample-texts.ts';
import { EmbeddedModel, type EmbeddedModelOptions } from '../../../src/models/embedded/index.ts';

type Content = LlmRequest['contents'][number];

/** A request as ADK makes it for these contents and tools. */
export function requestOf(contents: Content[], tools: readonly string[] = []): LlmRequest {
  return {
    contents,
    config: { tools: [{ functionDeclarations: tools.map((name) => ({ name })) }] },
    liveConnectConfig: {},
    toolsDict: {},
  };
}

export const user = (text: string): Content => ({ role: 'user', parts: [{ text }] });
export const model = (text: string): Content => ({ role: 'model', parts: [{ text }] });
export const called = (...calls: [name: string, args: Record<string, unknown>][]): Content => ({
  role: 'model',
  parts: calls.map(([name, args]) => ({ functionCall: { name, args } })),
});
export const answered = (...responses: [name: string, response: Record<string, unknown>][]): Content => ({
  role: 'user',
  parts: responses.map(([name, response]) => ({ functionResponse: { name, response } })),
});

/** What a model said: its thought, its words and its calls as `[name, args]`. */
export interface TextLog {
  thought: string;
  text: string;
  calls: [string, Record<string, unknown>][];
}

/** What a final response says. */
export function textsIn(response: LlmResponse | undefined): TextLog {
  const parts = response?.content?.parts ?? [];
  return {
    thought: parts.flatMap((part) => (part.thought ? [part.text ?? ''] : [])).join(''),
    text: parts.flatMap((part) => (part.thought ? [] : [part.text ?? ''])).join(''),
    calls: parts.flatMap(({ functionCall }) =>
      functionCall?.name
        ? [[functionCall.name, functionCall.args ?? {}] as [string, Record<string, unknown>]]
        : [],
    ),
  };
}

/** Asks the model once, without streaming. */
export async function ask(
  contents: Content[] | string,
  tools?: readonly string[],
  options: EmbeddedModelOptions = {},
): Promise<TextLog> {
  const conversation = typeof contents === 'string' ? [user(contents)] : contents;
  const responses: LlmResponse[] = [];
  for await (const response of new EmbeddedModel({
    paceMs: 0,
    rules: SAMPLE_TEXTS,
    ...options,
  }).generateContentAsync(requestOf(conversation, tools))) {
    responses.push(response);
  }
  return textsIn(responses.at(-1));
}
