import { type BaseLlm, type BaseTool, LlmAgent } from '@google/adk';
import { MockLanguageModelV3, simulateReadableStream } from 'ai/test';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fromAiSdk } from '../../src/models/index.ts';
import { modelErrorText } from '../../src/server/conversation/state/errors.ts';
import { fourTools } from '../support/demo-tools.ts';
import { harness, say } from '../support/harness.ts';
import { live } from '../support/live.ts';
import { call, ScriptedModel, streamed } from '../support/scripted-model.ts';

const outputSchema = z.object({ city: z.string() });
const agentOf = (model: BaseLlm, tools: BaseTool[] = []) =>
  new LlmAgent({ name: 'assistant', model, outputSchema, tools });

describe('an agent that must answer in a structure', () => {
  it.each(['SSE', 'BIDI'])('and has no tools gets it from its model, over %s', async (mode) => {
    const model = new ScriptedModel([streamed('{"city":', '"Oslo"}')]);
    if (mode === 'SSE') await harness([], [], { agent: agentOf(model) }).post(say('where?'));
    else {
      const { connect } = await live([], [], { agent: agentOf(model) });
      const socket = await connect();
      socket.say('where?');
      await socket.done();
      socket.close();
    }
    const { config } = model.requests[0] ?? {};
    expect(config?.responseSchema).toMatchObject({ properties: { city: {} } });
    expect(config?.responseMimeType).toBe('application/json');
    expect(JSON.stringify(config)).not.toContain('set_model_response');
    expect(config?.tools ?? []).toEqual([]);
  });

  it('and has no tools gets it from a provider of the AI SDK', async () => {
    const asked: unknown[] = [];
    const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } } as never;
    const model = new MockLanguageModelV3({
      doStream: async ({ responseFormat }) => {
        asked.push(responseFormat);
        return {
          stream: simulateReadableStream({
            chunks: [
              { type: 'text-delta', id: '1', delta: '{"city":"Oslo"}' },
              { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage },
            ],
          }),
        };
      },
    });
    const { chunks } = await harness([], [], { agent: agentOf(fromAiSdk(model)) }).post(say('where?'));
    expect(asked).toMatchObject([
      { type: 'json', schema: { type: 'object', properties: { city: { type: 'string' } } } },
    ]);
    expect(chunks).toContainEqual({ type: 'text-delta', id: '0', delta: '{"city":"Oslo"}' });
  });

  it('and has tools still gives it through a call', async () => {
    const model = new ScriptedModel([[call('set_model_response', { city: 'Oslo' })]]);
    const agent = agentOf(model, [fourTools().weather]);
    const { chunks } = await harness([], [], { agent }).post(say('where?'));
    expect(chunks).toContainEqual({ type: 'text-delta', id: '0', delta: '{"city":"Oslo"}' });
  });

  it('is not given one that could not be read', async () => {
    const cut = { ...call('set_model_response', {}), finishReason: 'MAX_TOKENS' as never };
    const agent = agentOf(new ScriptedModel([[cut]]), [fourTools().weather]);
    const { chunks } = await harness([], [], { agent }).post(say('where?'));
    expect(chunks).toContainEqual({
      type: 'error',
      errorText: modelErrorText('MALFORMED_FUNCTION_CALL', ''),
    });
    expect(chunks.some(({ type }) => type === 'text-delta')).toBe(false);
  });
});
