import { type BaseNode, type BaseTool, LlmAgent, NodeTool, Workflow } from '@google/adk';
import { expect } from 'vitest';
import { z } from 'zod';
import { call, ScriptedModel, text } from '../../../support/scripted-model.ts';
import { type Row, works } from '../matrix.ts';
import { textOf, the } from '../talk.ts';

const description = 'Sells.';

/** An agent that uses a node as a tool. */
function desk(tool: BaseTool | BaseNode): LlmAgent {
  const model = new ScriptedModel([[call('shop', { request: 'tea' }, 'shop-1')], [text('Well.')]]);
  return new LlmAgent({ name: 'assistant', model, tools: [tool] });
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
];
