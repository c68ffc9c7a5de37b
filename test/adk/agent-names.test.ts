import { AgentTool, BaseToolset, LlmAgent, type LlmAgentConfig, Workflow } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { defineTool } from '../../src/adk/index.ts';
import { createDuologue } from '../../src/server/index.ts';
import { call, ScriptedModel, type ScriptedTurn, text } from '../support/scripted-model.ts';
import { Conversation, outputs, WAYS } from './support/agent-tool-conversation.ts';
import { textOf, the } from './support/talk.ts';

const description = 'Helps.';

function agentOf(name: string, turns: ScriptedTurn[], config: Partial<LlmAgentConfig> = {}): LlmAgent {
  return new LlmAgent({ name, description, model: new ScriptedModel(turns), ...config });
}

const helper = (name: string, config: Partial<LlmAgentConfig> = {}) =>
  agentOf(name, [[text('Yes.')]], config);
const tool = (agent: LlmAgent) => new AgentTool({ agent });

describe('the names of agents', () => {
  it('an agent that is used as a tool may not have the name of the app, whose session it would write to', () => {
    const agent = helper('assistant', { tools: [tool(helper('duologue'))] });
    expect(() => createDuologue({ agent })).toThrow(
      'The agent "duologue" is used as a tool and has the name of the app, so it would write to the session of the conversation. Rename the agent, or set the option appName.',
    );
    expect(() => createDuologue({ agent, appName: 'bank' })).not.toThrow();
  });

  it('two agents of one conversation may not have one name, because stored calls are found by it', () => {
    const why =
      'Two agents named "banker" are in one tree, so that an approved call could run the tool of the wrong one. Rename one.';
    const desk = helper('desk', { subAgents: [helper('banker')] });
    const agent = helper('assistant', { subAgents: [helper('banker'), desk] });
    expect(() => createDuologue({ agent })).toThrow(why);
    const inside = helper('assistant', { tools: [tool(agent)] });
    expect(() => createDuologue({ agent: Object.assign(inside, { name: 'other' }) })).toThrow(why);
    const first = helper('banker');
    const second = helper('clerk', { subAgents: [helper('banker')] });
    const workflow = new Workflow({
      name: 'office',
      edges: [
        ['START', first],
        [first, second],
      ],
    });
    expect(() => createDuologue({ agent: workflow })).toThrow(why);
  });

  it('two agents that are used as tools may not have one name, because they would share a session', () => {
    const desk = helper('desk', { tools: [tool(helper('banker'))] });
    const agent = helper('assistant', { tools: [tool(helper('banker'))], subAgents: [desk] });
    expect(() => createDuologue({ agent })).toThrow(
      'Two agents named "banker" are used as tools, and would share one session. Rename one.',
    );
  });
});

describe.each(Object.entries(WAYS))('over %s', (_way, way) => {
  it('the agent of a conversation may have the name of the app', async () => {
    let paid = 0;
    const pay = defineTool({
      name: 'pay',
      description,
      needsApproval: true,
      execute: () => ({ paid: ++paid }),
    });
    const agent = agentOf('duologue', [[call('pay', {}, 'pay-1')], [text('Done.')]], { tools: [pay] });
    const conversation = new Conversation(way, agent, true);
    const asked = await conversation.say('go');
    await conversation.answer((talk) => talk.decide(the(asked, 'tool-approval-request'), true));
    expect(outputs(conversation.chunks)).toEqual([{ 'pay-1': { paid: 1 } }]);
    expect(textOf(conversation.chunks)).toBe('Done.');
  });

  it('an agent that is used as a tool may have the name of an agent of the conversation, whose calls are its own', async () => {
    const paid: string[] = [];
    const payAs = (who: string) =>
      defineTool({
        name: 'pay',
        description,
        needsApproval: true,
        execute: () => {
          paid.push(who);
          return { who };
        },
      });
    const inner = agentOf('banker', [[call('pay', {}, 'pay-2')], [text('Paid.')]], {
      tools: [payAs('inner')],
    });
    const agent = agentOf(
      'banker',
      [[call('pay', {}, 'pay-1')], [call('banker', { request: 'pay' }, 'banker-1')], [text('Done.')]],
      { tools: [payAs('outer'), tool(inner)] },
    );
    const conversation = new Conversation(way, agent, true);
    const first = await conversation.say('go');
    const second = await conversation.answer((talk) =>
      talk.decide(the(first, 'tool-approval-request'), true),
    );
    await conversation.answer((talk) => talk.decide(the(second, 'tool-approval-request'), true));
    expect(paid).toEqual(['outer', 'inner']);
    expect(outputs(conversation.chunks)).toEqual([
      { 'pay-1': { who: 'outer' } },
      { 'pay-2': { who: 'inner' } },
      { 'banker-1': 'Paid.' },
    ]);
  });

  it('an agent that a toolset returns as a tool may not have a model that can only be used live', async () => {
    const model = new ScriptedModel([], { connections: [] });
    const speaker = new LlmAgent({ name: 'speaker', description, model });
    class Office extends BaseToolset {
      override async getTools() {
        return [tool(speaker)];
      }
      override async close() {}
    }
    const agent = agentOf('assistant', [[call('speaker', { request: 'go' }, 'call-1')], [text('Well.')]], {
      tools: [new Office([])],
    });
    const chunks = await new Conversation(way, agent, false).say('go');
    expect(outputs(chunks)).toEqual([
      { 'call-1': expect.stringContaining('its model can only be used live') },
    ]);
  });

  it.each([
    ['the app', 'duologue', 'has the name of the app'],
    ['another agent that is used as a tool', 'clerk', 'are used as tools, and would share one session'],
  ])('an agent that a toolset returns as a tool may not have the name of %s', async (_what, name, why) => {
    class Office extends BaseToolset {
      override async getTools() {
        return [tool(helper(name))];
      }
      override async close() {}
    }
    const desk = helper('desk', { tools: [tool(helper('clerk'))] });
    const agent = agentOf('assistant', [[call(name, { request: 'go' }, 'call-1')], [text('Well.')]], {
      tools: [new Office([])],
      subAgents: [desk],
    });
    const chunks = await new Conversation(way, agent, false).say('go');
    expect(outputs(chunks)).toEqual([{ 'call-1': expect.stringContaining(why) }]);
    expect(textOf(chunks)).toBe('Well.');
  });
});
