import { BasePlugin, type BaseTool, FunctionTool, LlmAgent } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fourTools } from '../support/demo-tools.ts';
import { harness, say } from '../support/harness.ts';
import { call, ScriptedModel, streamed } from '../support/scripted-model.ts';

const pay = (log: string[]) =>
  new FunctionTool({
    name: 'pay',
    description: 'Pays',
    parameters: z.object({ amount: z.number() }),
    requireConfirmation: true,
    execute: ({ amount }) => log.push(`pay ${amount}`),
  });

describe('a tool that an agent is given later', () => {
  it.each([
    ['the first', []],
    ['one more', [fourTools().weather]],
  ])('[T12] asks like any other: %s', async (_name, tools) => {
    const log: string[] = [];
    const model = new ScriptedModel([streamed('Hello.'), [call('pay', { amount: 5 })]]);
    const agent = new LlmAgent({ name: 'assistant', model, tools });
    const made = harness([], [], { agent });
    await made.post(say('hi'));
    agent.tools.push(pay(log));
    const { chunks } = await made.post(say('pay'));
    expect(chunks.some(({ type }) => type === 'tool-approval-request')).toBe(true);
    expect(log).toEqual([]);
  });
});

describe('a plugin that chooses tools', () => {
  class Chooser extends BasePlugin {
    override async beforeToolSelection({ tools }: { tools: Readonly<Record<string, BaseTool>> }) {
      return Object.fromEntries(Object.entries(tools).filter(([name]) => name === 'refund'));
    }
  }

  it('[T12] cannot leave out the gate before those that it chose', async () => {
    const log: string[] = [];
    const refund = Object.assign(pay(log), { name: 'refund' });
    const model = new ScriptedModel([[call('refund', { amount: 5 })]]);
    const agent = new LlmAgent({ name: 'assistant', model, tools: [refund, fourTools(log).weather] });
    const { post } = harness([], [], { agent, plugins: [new Chooser('chooser')] });
    const { chunks } = await post(say('refund me'));
    expect(chunks.some(({ type }) => type === 'tool-approval-request')).toBe(true);
    expect(log).toEqual([]);
    expect(JSON.stringify(model.requests[0]?.config.tools)).not.toContain('get_weather');
  });
});
