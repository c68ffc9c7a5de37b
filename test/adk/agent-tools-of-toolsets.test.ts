import { AgentTool, type BaseTool, BaseToolset, FunctionTool, LlmAgent } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { defineTool } from '../../src/adk/index.ts';
import type { Chunk } from '../../src/protocol/index.ts';
import { call, ScriptedModel, text } from '../support/scripted-model.ts';
import {
  Conversation,
  input,
  outputs,
  PROCESSES,
  responses,
  WAYS,
} from './support/agent-tool-conversation.ts';
import { type Talk, textOf, the } from './support/talk.ts';

const name = 'act';
const description = 'Acts.';

/** A toolset that makes its tools anew whenever ADK asks for them. */
class Office extends BaseToolset {
  readonly #make: () => BaseTool;

  constructor(make: () => BaseTool) {
    super([]);
    this.#make = make;
  }

  override async getTools() {
    return [this.#make()];
  }

  override async close() {}
}

/** A tool of an application that changes what ADK's own does, so that its agent cannot be resumed. */
class OwnAgentTool extends AgentTool {
  override runAsync(request: Parameters<AgentTool['runAsync']>[0]): Promise<unknown> {
    return super.runAsync(request);
  }
}

const KINDS: Record<string, { tool: (run: () => object) => BaseTool; names?: string[] }> = {
  needsApproval: {
    tool: (run) => defineTool({ name, description, needsApproval: true, execute: run }),
  },
  requireConfirmation: {
    tool: (run) => new FunctionTool({ name, description, requireConfirmation: true, execute: run }),
  },
  toolsRequiringApproval: { tool: (run) => defineTool({ name, description, execute: run }), names: [name] },
};

/** An agent that gets another one as a tool from a toolset. */
function office(tool: BaseTool, Kind: typeof AgentTool = AgentTool, innerName = 'banker') {
  const inner = new ScriptedModel([[call(name, {}, 'act-1')], [text('I did it.')]]);
  const outer = new ScriptedModel([[call(innerName, { request: 'go' }, 'agent-1')], [text('Well.')]]);
  const toolset = new Office(() => {
    const agent = new LlmAgent({ name: innerName, description, model: inner, tools: [tool] });
    return new Kind({ agent });
  });
  return { agent: new LlmAgent({ name: 'assistant', model: outer, tools: [toolset] }), inner, outer };
}

const approve = (asked: Chunk[]) => (talk: Talk) => talk.decide(the(asked, 'tool-approval-request'), true);

describe.each(Object.entries(WAYS))('an agent that a toolset returns as a tool, over %s', (_way, way) => {
  describe.each(PROCESSES)('%s', (processes) => {
    const isKilled = processes !== PROCESSES[0];

    it.each(Object.entries(KINDS))(
      '[T27] waits for the approval that its tool needs by %s',
      async (_kind, { tool, names }) => {
        let ran = 0;
        const { agent, inner, outer } = office(tool(() => ({ done: ++ran })));
        const options = names ? { toolsRequiringApproval: names } : {};
        const conversation = new Conversation(way, agent, isKilled, options);
        const asked = await conversation.say('go');
        expect(ran).toBe(0);
        expect(input(asked, name).toolMetadata?.agents).toEqual(['assistant', 'banker']);
        await conversation.answer(approve(asked));
        expect(outputs(conversation.chunks)).toEqual([{ 'act-1': { done: 1 } }, { 'agent-1': 'I did it.' }]);
        expect(textOf(conversation.chunks)).toBe('Well.');
        expect(ran).toBe(1);
        expect(responses(inner)).toEqual([{ 'act-1': { done: 1 } }]);
        expect(responses(outer)).toEqual([{ 'agent-1': { result: 'I did it.' } }]);
      },
    );
  });

  it.each(Object.entries(KINDS))(
    '[T27c] fails where it cannot be resumed and its tool needs an approval by %s',
    async (_kind, { tool, names }) => {
      let ran = 0;
      const { agent } = office(
        tool(() => ({ done: ++ran })),
        OwnAgentTool,
      );
      const options = names ? { toolsRequiringApproval: names } : {};
      const chunks = await new Conversation(way, agent, false, options).say('go');
      const errorText =
        'act asks for an approval, which the agent "banker" cannot get while it is used as a tool.';
      expect(outputs(chunks)).toEqual([{ 'agent-1': errorText }]);
      expect(ran).toBe(0);
    },
  );
});
