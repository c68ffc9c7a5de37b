import { BasePlugin, LlmAgent } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { withSpeech } from '../../src/models/index.ts';
import type { DuologueOptions } from '../../src/server/index.ts';
import { fourTools } from '../support/demo-tools.ts';
import { harness } from '../support/harness.ts';
import { live } from '../support/live.ts';
import { call, ScriptedModel, type ScriptedTurn, text } from '../support/scripted-model.ts';

/** Sends messages over one socket; returns what the agent wrote. */
async function written(options: Partial<DuologueOptions>, ...messages: string[]): Promise<string> {
  const { connect } = await live([], [], options);
  const socket = await connect();
  for (const [index, message] of messages.entries()) {
    socket.say(message);
    await socket.done(index + 1);
  }
  socket.close();
  return socket.chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? [chunk.delta] : [])).join('');
}

/** Starts a server and returns its warnings. */
async function warningsOf(options: DuologueOptions): Promise<string[]> {
  const warnings: string[] = [];
  const logger = { info() {}, warn: (message: string) => warnings.push(message), error() {} };
  await harness([], [], { ...options, logger }).duologue.close();
  return warnings;
}

const REFUSAL = { content: { role: 'model', parts: [{ text: 'I must not.' }] } };

describe('guardrails over BIDI', () => {
  it('are asked before the model is, for each message', async () => {
    const model = new ScriptedModel([[text('Hi.')]]);
    const agent = new LlmAgent({
      name: 'assistant',
      model,
      beforeModelCallback: ({ request }) =>
        JSON.stringify(request.contents.at(-1)).includes('secret') ? REFUSAL : undefined,
    });
    expect(await written({ agent }, 'Hello', 'Tell me the secret')).toBe('Hi.I must not.');
    expect(model.requests).toHaveLength(1);
  });

  it('of an agent that another one hands over to are asked as well', async () => {
    const model = new ScriptedModel([[call('transfer_to_agent', { agentName: 'child' })]]);
    const child = new LlmAgent({ name: 'child', model, beforeModelCallback: () => REFUSAL });
    const agent = new LlmAgent({ name: 'parent', model, subAgents: [child] });
    expect(await written({ agent }, 'Hello')).toBe('I must not.');
  });

  it.each<[string, ScriptedTurn[], string[]]>([
    ['onUserMessageCallback', [[text('A.')], [text('B.')]], ['one', 'two']],
    ['beforeModelCallback', [[text('A.')], [text('B.')]], ['one', 'two']],
    ['afterModelCallback', [[text('A.')], [text('B.')]], ['one', 'two']],
    ['afterRunCallback', [[text('A.')], [text('B.')]], ['one', 'two']],
    ['onModelErrorCallback', [[new Error('down')], [new Error('down')]], ['one', 'two']],
  ])('of a plugin are called for each message: %s', async (name, turns, messages) => {
    let calls = 0;
    const hook = async () => {
      calls += 1;
      return name === 'onModelErrorCallback' ? REFUSAL : undefined;
    };
    const plugin = Object.assign(new (class extends BasePlugin {})('guard'), { [name]: hook });
    const agent = new LlmAgent({ name: 'assistant', model: new ScriptedModel(turns) });
    await written({ agent, plugins: [plugin] }, ...messages);
    expect(calls).toBe(2);
  });

  it('and an output schema beside tools is honoured', async () => {
    const model = new ScriptedModel([[call('set_model_response', { city: 'Oslo' })]]);
    const outputSchema = z.object({ city: z.string() });
    const agent = new LlmAgent({ name: 'assistant', model, outputSchema, tools: [fourTools().weather] });
    expect(await written({ agent }, 'where?')).toBe('{"city":"Oslo"}');
  });

  it('of a model that can only be used live are named when the server starts', async () => {
    const model = new ScriptedModel([], { connections: [] });
    const agent = new LlmAgent({ name: 'assistant', model, beforeModelCallback: () => REFUSAL });
    expect(await warningsOf({ agent })).toEqual([
      expect.stringContaining(
        'ADK does not support in live runs: beforeModelCallback of the agent "assistant".',
      ),
    ]);
  });

  it('of a live model that is given by name are named when the server starts without a key', async () => {
    const agent = new LlmAgent({
      name: 'assistant',
      model: 'gemini-live-2.5-flash',
      beforeModelCallback: () => REFUSAL,
    });
    expect(await warningsOf({ agent })).toEqual([expect.stringContaining('its model can only be used live')]);
  });

  it('of a model with ears win over sound, with a warning', async () => {
    const model = withSpeech(new ScriptedModel(), { speechToText: async () => '' });
    const agent = new LlmAgent({ name: 'assistant', model, beforeModelCallback: () => REFUSAL });
    expect(await warningsOf({ agent })).toEqual([
      expect.stringContaining('"assistant" is driven turn by turn and gets no sound'),
    ]);
  });
});
