import { AgentTool, LlmAgent, type NodeContext, NodeTool, RequestInput, Workflow } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { call, ScriptedModel, text } from '../support/scripted-model.ts';
import { Conversation, outputs, WAYS } from './support/agent-tool-conversation.ts';
import { textOf } from './support/talk.ts';

const description = 'Sells.';
const WHY =
  'The node "ask" asks for input with RequestInput inside a workflow that is used as a tool, which is not supported. Let the agent that calls the workflow ask instead.';

/** An agent with a workflow as a tool. */
function desk(name: string, ask: (context: NodeContext, input: unknown) => unknown): LlmAgent {
  const inputSchema = z.object({ request: z.string() });
  const workflow = new Workflow({ name: 'shop', description, inputSchema, edges: [['START', ask]] });
  const model = new ScriptedModel([[call('shop', { request: 'tea' }, 'shop-1')], [text('Well.')]]);
  return new LlmAgent({ name, description, model, tools: [new NodeTool(workflow)] });
}

const asking = (name: string) =>
  desk(name, function ask() {
    return new RequestInput({ message: 'Which size?' });
  });

describe.each(Object.entries(WAYS))('over %s', (_way, way) => {
  const isLive = 'driver' in way && way.driver === 'live';

  it('a workflow that is used as a tool gives its output, except in a live run', async () => {
    const sell = (_: NodeContext, input: unknown) => ({ sold: (input as { request: string }).request });
    const agent = desk('assistant', sell);
    const chunks = await new Conversation(way, agent, false).say('go');
    expect(outputs(chunks)).toEqual([
      { 'shop-1': isLive ? expect.stringContaining('requires an invocation event queue') : { sold: 'tea' } },
    ]);
    // ADK shows what the nodes say, too.
    expect(textOf(chunks)).toBe(isLive ? 'Well.' : '{"sold":"tea"}Well.');
  });

  it('[T27c] a RequestInput inside a workflow that is used as a tool is no question', async () => {
    const chunks = await new Conversation(way, asking('assistant'), false).say('go');
    expect(chunks.filter((chunk) => 'toolMetadata' in chunk && chunk.toolMetadata?.question)).toEqual([]);
    expect(chunks.some(({ type }) => type === 'error')).toBe(!isLive);
  });

  it('[T27c] a RequestInput inside a workflow of an agent that is used as a tool ends the call of the agent', async () => {
    const model = new ScriptedModel([[call('banker', { request: 'go' }, 'banker-1')], [text('So.')]]);
    const tools = [new AgentTool({ agent: asking('banker') })];
    const agent = new LlmAgent({ name: 'assistant', model, tools });
    const chunks = await new Conversation(way, agent, false).say('go');
    expect(outputs(chunks)).toContainEqual({ 'banker-1': expect.stringContaining(WHY) });
    expect(textOf(chunks)).toBe('So.');
  });
});
