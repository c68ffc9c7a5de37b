import {
  AgentTool,
  BasePlugin,
  type BaseTool,
  type Context,
  FunctionTool,
  InMemoryRunner,
  LlmAgent,
  NodeTool,
  SequentialAgent,
  Workflow,
} from '@google/adk';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import type { Chunk } from '../../src/protocol/index.ts';
import { harness } from '../support/harness.ts';
import { call, ScriptedModel, text } from '../support/scripted-model.ts';
import { Conversation, outputs, PROCESSES, WAYS } from './support/agent-tool-conversation.ts';
import { type Talk, textOf, the } from './support/talk.ts';
import { WAITING_KINDS } from './support/waiting-kinds.ts';

const description = 'A tool.';
const hint = 'Really?';
const REQUEST = { hint, payload: { limit: 1 } };

/** ADK's placeholder for a call that waits. */
const PENDING = { partial: 'It waits.' };

/** A callback that requests a confirmation for the calls of one tool. */
const asking =
  (name = 'act') =>
  ({ tool, context }: { tool: BaseTool; context: Context }) => {
    if (tool.name !== name) return undefined;
    context.requestConfirmation(REQUEST);
    return PENDING;
  };

/** A plugin with the same callback. */
class Asking extends BasePlugin {
  override async beforeToolCallback({ tool, toolContext }: { tool: BaseTool; toolContext: Context }) {
    return asking()({ tool, context: toolContext });
  }
}

function agentWith(tools: BaseTool[], turns: ConstructorParameters<typeof ScriptedModel>[0]): LlmAgent {
  const model = new ScriptedModel(turns);
  return new LlmAgent({ name: 'assistant', model, tools, beforeToolCallback: asking() });
}

const approvals = (chunks: readonly Chunk[]) => chunks.filter(({ type }) => type === 'tool-approval-request');
const approve = (asked: Chunk[]) => (talk: Talk) => talk.decide(the(asked, 'tool-approval-request'), true);

describe.each(Object.entries(WAYS))(
  'a confirmation that a callback before a tool requests, over %s',
  (_way, way) => {
    it.each(PROCESSES)('reaches the tool with the payload of the user, %s', async (processes) => {
      const got: unknown[] = [];
      const act = new FunctionTool({
        name: 'act',
        description,
        execute: (_input, context) => `${got.push(context?.toolConfirmation?.payload)}`,
      });
      const agent = agentWith([act], [[call('act', {}, 'act-1')], [text('Done.')]]);
      const conversation = new Conversation(way, agent, processes !== PROCESSES[0]);
      const asked = await conversation.say('go');
      expect(the(asked, 'tool-approval-request').approvalDescriptor).toEqual({
        message: hint,
        payload: { limit: 1 },
      });
      expect(got).toEqual([]);
      const request = the(asked, 'tool-approval-request');
      await conversation.answer((talk) => talk.decide(request, true, { payload: { limit: 5 } }));
      expect(got).toEqual([{ limit: 5 }]);
      expect(outputs(conversation.chunks)).toEqual([{ 'act-1': '1' }]);
      expect(textOf(conversation.chunks)).toBe('Done.');
    });

    it('cannot be answered with an output in place of a decision', async () => {
      const ran: string[] = [];
      const act = new FunctionTool({ name: 'act', description, execute: () => `${ran.push('act')}` });
      const agent = agentWith([act], [[call('act', {}, 'act-1')], [text('Done.')]]);
      const conversation = new Conversation(way, agent, false);
      await conversation.say('go');
      let code = '';
      await conversation.answer(async (talk) => {
        const made = {
          type: 'tool-input-available',
          toolCallId: 'act-1',
          toolName: 'act',
          input: {},
        } as const;
        ({ code } = await talk.refused(made, 'forged'));
        return [];
      });
      expect(code).not.toBe('');
      expect(ran).toEqual([]);
    });

    it.each(WAITING_KINDS.slice(0, 2))(
      'is asked once where the tool needs an approval as well: %#',
      async ({ tool }) => {
        const ran: string[] = [];
        const agent = agentWith(
          [tool(() => `${ran.push('act')}`)],
          [[call('act', {}, 'act-1')], [text('Done.')]],
        );
        const conversation = new Conversation(way, agent, false);
        const asked = await conversation.say('go');
        expect(the(asked, 'tool-approval-request').reason).toBe(hint);
        await conversation.answer(approve(asked));
        expect(approvals(conversation.chunks)).toHaveLength(1);
        expect(ran).toEqual(['act']);
        expect(textOf(conversation.chunks)).toBe('Done.');
      },
    );

    it.each([false, true])(
      'for a browser tool (optimistic: %s) is an approval of that tool',
      async (optimistic) => {
        const act = (needsApproval: boolean) =>
          defineTool({
            name: 'act',
            description,
            runsOn: 'client',
            needsApproval,
            ...(optimistic ? { optimistic: () => 'done' } : {}),
          });
        const agents = [
          agentWith([act(false)], [[call('act', {}, 'act-1')], [text('Done.')]]),
          new LlmAgent({
            name: 'assistant',
            model: new ScriptedModel([[call('act', {}, 'act-1')], [text('Done.')]]),
            tools: [act(true)],
            beforeToolCallback: () => undefined,
          }),
        ];
        const seen = await Promise.all(
          agents.map(async (agent) => {
            const conversation = new Conversation(way, agent, false);
            const asked = await conversation.say('go');
            const { toolCallId } = the(asked, 'tool-approval-request');
            const denied = await conversation.answer((talk) =>
              talk.decide(the(asked, 'tool-approval-request'), false),
            );
            const named = asked.filter((chunk) => 'toolCallId' in chunk && chunk.toolCallId === toolCallId);
            return [
              named.map((chunk) => ('toolMetadata' in chunk ? [chunk.type, chunk.toolMetadata] : chunk.type)),
              textOf(denied),
            ];
          }),
        );
        expect(seen[0]).toEqual(seen[1]);
        expect(seen[0]?.[1]).toBe('Done.');
      },
    );

    it('of an agent that is used as a tool is asked in the conversation', async () => {
      const ran: string[] = [];
      const act = defineTool({ name: 'act', description, execute: () => `${ran.push('act')}` });
      const inner = new ScriptedModel([[call('act', {}, 'act-1')], [text('I did it.')]]);
      const banker = new LlmAgent({
        name: 'banker',
        description,
        model: inner,
        tools: [act],
        beforeToolCallback: asking(),
      });
      const agent = agentWith(
        [new AgentTool({ agent: banker })],
        [[call('banker', { request: 'go' }, 'banker-1')], [text('Well.')]],
      );
      const conversation = new Conversation(way, agent, false);
      const asked = await conversation.say('go');
      expect(ran).toEqual([]);
      await conversation.answer(approve(asked));
      expect(ran).toEqual(['act']);
      expect(textOf(conversation.chunks)).toBe('Well.');
    });

    it('is refused inside an agent that is used as a tool and cannot pause', async () => {
      const ran: string[] = [];
      const act = defineTool({ name: 'act', description, execute: () => `${ran.push('act')}` });
      const inner = new ScriptedModel([[call('act', {}, 'act-1')], [text('It cannot.')]]);
      const banker = new LlmAgent({
        name: 'banker',
        model: inner,
        tools: [act],
        beforeToolCallback: asking(),
      });
      const bank = new SequentialAgent({ name: 'bank', description, subAgents: [banker] });
      const agent = agentWith(
        [new AgentTool({ agent: bank })],
        [[call('bank', { request: 'go' }, 'bank-1')], [text('Well.')]],
      );
      const chunks = await new Conversation(way, agent, false).say('go');
      expect(outputs(chunks)).toEqual([
        {
          'bank-1':
            'act asks for an approval, which the agent "banker" cannot get while it is used as a tool.',
        },
      ]);
      expect(ran).toEqual([]);
    });

    it('is refused for tools that work only in the loop of ADK', async () => {
      const child = new LlmAgent({ name: 'child', model: new ScriptedModel([[text('I am the child.')]]) });
      const model = new ScriptedModel([
        [call('transfer_to_agent', { agentName: 'child' }, 'call-1')],
        [text('It cannot.')],
      ]);
      const beforeToolCallback = asking('transfer_to_agent');
      const agent = new LlmAgent({ name: 'assistant', model, subAgents: [child], beforeToolCallback });
      const chunks = await new Conversation(way, agent, false).say('go');
      expect(approvals(chunks)).toEqual([]);
      expect(JSON.stringify(model.lastContents)).toContain('cannot wait for a user');
      expect(textOf(chunks)).toBe('It cannot.');
    });

    it('is refused for a node that is used as a tool', async () => {
      const ran: string[] = [];
      const inputSchema = z.object({});
      const sell = () => ran.push('shop');
      const shop = new Workflow({
        name: 'act',
        description,
        inputSchema,
        edges: [['START', sell]],
      });
      const agent = agentWith([new NodeTool(shop)], [[call('act', {}, 'act-1')], [text('It cannot.')]]);
      const chunks = await new Conversation(way, agent, false).say('go');
      expect(outputs(chunks)).toEqual([{ 'act-1': expect.stringContaining('cannot wait for a user') }]);
      expect(ran).toEqual([]);
    });

    it('of a plugin is asked before the callbacks of the agent could answer for the tool', async () => {
      const ran: string[] = [];
      const act = new FunctionTool({ name: 'act', description, execute: () => `${ran.push('act')}` });
      const model = new ScriptedModel([[call('act', {}, 'act-1')], [text('Done.')]]);
      const agent = new LlmAgent({
        name: 'assistant',
        model,
        tools: [act],
        beforeToolCallback: () => undefined,
      });
      const conversation = new Conversation(way, agent, false, { plugins: [new Asking('asking')] });
      const asked = await conversation.say('go');
      expect(ran).toEqual([]);
      await conversation.answer(approve(asked));
      expect(ran).toEqual(['act']);
    });
  },
);

describe('a confirmation that a callback requests in a runner of the application', () => {
  it('stays a request of ADK, also after the agent was given to a server', async () => {
    const ran: string[] = [];
    const act = new FunctionTool({ name: 'act', description, execute: () => `${ran.push('act')}` });
    const agent = agentWith([act], [[call('act', {}, 'act-1')], [text('Done.')]]);
    await harness([], [], { agent }).duologue.close();
    const runner = new InMemoryRunner({ agent, appName: 'own' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'own', userId: 'user' });
    const newMessage = { role: 'user', parts: [{ text: 'go' }] };
    const names: (string | undefined)[] = [];
    for await (const { content } of runner.runAsync({ userId: 'user', sessionId, newMessage }))
      for (const { functionCall } of content?.parts ?? []) if (functionCall) names.push(functionCall.name);
    expect(names).toEqual(['act', 'adk_request_confirmation']);
    expect(ran).toEqual([]);
  });
});
