import { createServer } from 'node:http';
import { isStepCount, type LanguageModel, streamText, tool } from 'ai';
import { z } from 'zod';
import { CALLS_IN_A_STEP, PAYMENT, WEATHER } from '../load.ts';
import { listen, readPost, type Start } from '../servers/start.ts';
import type { Source } from '../source.ts';

type Model = Extract<LanguageModel, { specificationVersion: 'v4' }>;
type Part = Awaited<ReturnType<Model['doStream']>>['stream'] extends ReadableStream<infer T> ? T : never;

/** The AI SDK's own agent loop, with the same model, tools and approval request; no ADK. */
export const start: Start = ({ source }) => {
  const model = modelOf(source);
  const tools = {
    get_weather: tool({
      description: 'Weather',
      inputSchema: z.object({ location: z.string() }),
      execute: async () => WEATHER.output,
    }),
    process_payment: tool({
      description: 'Pays',
      inputSchema: z.object({ amount: z.number(), recipient: z.string() }),
      needsApproval: true,
      execute: async () => ({ paid: true }),
    }),
  };
  return listen(
    createServer(async (request, response) => {
      const { question: prompt } = await readPost(request);
      streamText({ model, prompt, tools, stopWhen: isStepCount(1000) }).pipeUIMessageStreamToResponse(
        response,
      );
    }),
  );
};

function modelOf(source: Source): Model {
  return {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'bench',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('This model only streams.')),
    async doStream({ prompt }) {
      const user = prompt.find(({ role }) => role === 'user');
      const question = user?.role === 'user' && user.content[0]?.type === 'text' ? user.content[0].text : '';
      const step = prompt.filter(({ role }) => role === 'tool').length;
      const deltas = source.step(question, step);
      return {
        stream: new ReadableStream<Part>({
          start(controller) {
            controller.enqueue({ type: 'stream-start', warnings: [] });
            controller.enqueue({ type: 'text-start', id: '0' });
          },
          async pull(controller) {
            const { done, value } = await deltas.next();
            if (!done) {
              controller.enqueue({ type: 'text-delta', id: '0', delta: value });
              return;
            }
            const hasNextStep = source.hasNextStep(question, step);
            controller.enqueue({ type: 'text-end', id: '0' });
            for (let n = 0; n < (hasNextStep ? CALLS_IN_A_STEP : 1); n++) {
              controller.enqueue({
                type: 'tool-call',
                toolCallId: `call-${step}-${n}`,
                toolName: hasNextStep ? 'get_weather' : 'process_payment',
                input: JSON.stringify(hasNextStep ? WEATHER.args : PAYMENT),
              });
            }
            controller.enqueue({
              type: 'finish',
              finishReason: { unified: 'tool-calls', raw: undefined },
              usage: {
                inputTokens: { total: 5, noCache: 5, cacheRead: 0, cacheWrite: 0 },
                outputTokens: { total: 95, text: 95, reasoning: 0 },
              },
            });
            controller.close();
          },
        }),
      };
    },
  };
}
