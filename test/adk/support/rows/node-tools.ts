import { type BaseNode, type BaseTool, LlmAgent, NodeTool, Workflow } from '@google/adk';
import { expect } from 'vitest';
import { z } from 'zod';
import { call, ScriptedModel, text } from '../../../support/scripted-model.ts';
import { type Row, refused, works } from '../matrix.ts';
import { textOf, the } from '../talk.ts';
import { WAITING_KINDS } from '../waiting-kinds.ts';

const description = 'Sells.';

/** An agent that uses a node as a tool. */
function desk(tool: BaseTool | BaseNode): LlmAgent {
  const model = new ScriptedModel([[call('shop', { request: 'tea' }, 'shop-1')], [text('Well.')]]);
  return new LlmAgent({ name: 'assistant', model, tools: [tool] });
}

/** A workflow whose only node is an agent with these tools, which calls `act`. */
function shopWith(tools: (BaseTool | BaseNode)[]): Workflow {
  const model = new ScriptedModel([[call('act', { request: 'go' }, 'act-1')], [text('It cannot.')]]);
  const seller = new LlmAgent({ name: 'seller', model, tools });
  const inputSchema = z.object({ request: z.string() });
  return new Workflow({ name: 'shop', description, inputSchema, edges: [['START', seller]] });
}

/** Nodes of ADK 2 that agents use as tools. */
export const NODE_TOOLS: Row[] = [
  works(
    'a node as a tool: in a `NodeTool`, or in `tools` itself',
    async (place) => {
      const sell = (_: unknown, input: unknown) => ({ sold: (input as { request: string }).request });
      const inputSchema = z.object({ request: z.string() });
      const shop = new Workflow({ name: 'shop', description, inputSchema, edges: [['START', sell]] });
      for (const tool of [shop, new NodeTool(shop)]) {
        const { say } = await (tool === shop ? place.talk : place.afterKill).call(place, {
          agent: desk(tool),
        });
        const chunks = await say(tool === shop ? 'one' : 'two');
        expect(the(chunks, 'tool-output-available').output).toEqual({ sold: 'tea' });
        expect(textOf(chunks)).toBe('{"sold":"tea"}Well.');
      }
    },
    'yes, driven turn by turn',
  ),

  refused(
    'approval, browser tool or confirmation inside a node that is used as a tool',
    'refused when called, named at start',
    async (place) => {
      for (const [index, { tool, whom }] of WAITING_KINDS.entries()) {
        const ran: string[] = [];
        const shop = shopWith([tool(() => `${ran.push('act')}`)]);
        const warnings: string[] = [];
        const logger = { info() {}, error() {}, warn: (line: string) => warnings.push(line) };
        const { say } = await (index === 0 ? place.talk : place.afterKill).call(place, {
          agent: desk(new NodeTool(shop)),
          logger,
        });
        expect(warnings).toEqual([
          'Calls of act by the agent "assistant > shop > seller" fail where they would wait: it runs inside a tool, in a place where ADK cannot resume it (in a Sequential, Parallel or Loop agent, in a node that is used as a tool, or in a tool that overrides runAsync of AgentTool).',
        ]);
        expect(the(await say(`go ${index}`), 'tool-output-error').errorText).toBe(
          `act waits for ${whom}, but no call can wait inside a workflow that is used as a tool.`,
        );
        expect(ran).toEqual([]);
      }
    },
  ),
];
