import type { BaseLlmConnection, LlmAgent, LlmRequest, LlmResponse } from '@google/adk';
import { z } from 'zod';
import { CALLS_IN_A_STEP, PAYMENT, WEATHER } from './load.ts';
import type { Source } from './source.ts';

export type Adk = typeof import('@google/adk');

/** The agent that every variant with ADK runs: a model that streams, a tool that runs at once and a tool that needs approval. */
export function makeAgent(adk: Adk, source: Source): LlmAgent {
  class Model extends adk.BaseLlm {
    constructor() {
      super({ model: 'bench' });
    }

    override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void> {
      const parts = contents.flatMap((content) => content.parts ?? []);
      const question = parts.find((part) => part.text)?.text ?? '';
      const step = parts.filter((part) => part.functionResponse).length / CALLS_IN_A_STEP;
      let whole = '';
      for await (const text of source.step(question, step)) {
        whole += text;
        yield { content: { role: 'model', parts: [{ text }] }, partial: true };
      }
      const calls = source.hasNextStep(question, step)
        ? Array.from({ length: CALLS_IN_A_STEP }, () => ({ name: 'get_weather', args: WEATHER.args }))
        : [{ name: 'process_payment', args: PAYMENT }];
      yield {
        content: {
          role: 'model',
          parts: [{ text: whole }, ...calls.map((functionCall) => ({ functionCall }))],
        },
        partial: false,
        usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 95, totalTokenCount: 100 },
      };
    }

    override connect(): Promise<BaseLlmConnection> {
      throw new Error('The model has no live connection.');
    }
  }

  return new adk.LlmAgent({
    name: 'assistant',
    model: new Model(),
    tools: [
      new adk.FunctionTool({
        name: 'get_weather',
        description: 'Weather',
        parameters: z.object({ location: z.string() }),
        execute: () => WEATHER.output,
      }),
      new adk.FunctionTool({
        name: 'process_payment',
        description: 'Pays',
        parameters: z.object({ amount: z.number(), recipient: z.string() }),
        execute: () => ({ paid: true }),
        requireConfirmation: true,
      }),
    ],
  });
}
