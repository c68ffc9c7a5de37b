import {
  AgentTool,
  type BaseAgent,
  type BaseNode,
  BaseToolset,
  FunctionTool,
  JoinNode,
  LlmAgent,
  type NodeContext,
  NodeTool,
  ParallelWorker,
  type RunnableNode,
  type RunnableRoot,
  SequentialAgent,
  ToolNode,
  type ToolUnion,
  Workflow,
} from '@google/adk';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import type { Chunk } from '../../src/protocol/index.ts';
import type { DuologueOptions } from '../../src/server/index.ts';
import { call, ScriptedModel, text } from '../support/scripted-model.ts';
import { outputs, responses, WAYS, type Way } from './support/agent-tool-conversation.ts';
import { Place } from './support/matrix.ts';
import { sqliteDatabase } from './support/sqlite-database.ts';
import { textOf } from './support/talk.ts';

const description = 'Does it.';
const inputSchema = z.object({ request: z.string() });
const { 'BIDI live': _, ...TURNS } = WAYS;

/** An agent that calls one tool, and then says that it is done. */
function caller(name: string, tool: string, tools: ToolUnion[]): LlmAgent {
  const model = new ScriptedModel([
    [call(tool, { request: 'go' }, `${tool}-1`)],
    [text('Done.')],
    [text('Well.')],
  ]);
  return new LlmAgent({ name, description, model, tools });
}

/** A tool that pays without asking, unless the server's option names it, and the payments that ran. */
function bank() {
  const paid: string[] = [];
  const execute = () => ({ paid: paid.push('pay') });
  return { pay: new FunctionTool({ name: 'pay', description, execute }), paid };
}

const shop = (node: RunnableNode) =>
  new Workflow({ name: 'shop', description, inputSchema, edges: [['START', node]] });
const flow = (node: RunnableNode) => new Workflow({ name: 'flow', edges: [['START', node]] });
const steps = (agent: BaseAgent) => new SequentialAgent({ name: 'steps', description, subAgents: [agent] });
const running = (node: () => RunnableNode) =>
  async function run(context: NodeContext) {
    await context.runNode(node(), {});
  };

/** A toolset that makes its tool when it is asked for it. */
class Made extends BaseToolset {
  readonly #make: () => FunctionTool | NodeTool | AgentTool;

  constructor(make: () => FunctionTool | NodeTool | AgentTool) {
    super([]);
    this.#make = make;
  }

  override async getTools() {
    return [this.#make()];
  }

  override async close() {}
}

/** What clients get for a message to an agent whose tool `pay` needs approval because the option of the server says so. */
async function chunksOf(
  way: Way,
  agent: RunnableRoot,
  options: Partial<DuologueOptions> = {},
): Promise<Chunk[]> {
  const { mode, ...driver } = way;
  const given = { agent, toolsRequiringApproval: ['pay'], ...driver, ...options };
  const { say } = await new Place(mode, sqliteDatabase()).talk(given);
  return say('go');
}

const refusal = (inner: string, outer = 'shop') =>
  `"${inner}" cannot run inside "${outer}", a node that is used as a tool: its calls could not ask the user. Such a node may only run functions.`;

describe('a node that is used as a tool is refused at start if it runs', () => {
  const clerk = () => caller('clerk', 'pay', [bank().pay]);
  const nodes: Record<string, [inner: string, node: () => BaseNode]> = {
    'an agent in a workflow': ['clerk', () => shop(clerk())],
    'a SequentialAgent in a workflow': ['steps', () => shop(steps(clerk()))],
    'a tool in a workflow': ['pay', () => shop(bank().pay)],
    'an agent in a workflow of the workflow': ['clerk', () => shop(flow(clerk()))],
    'an agent for each item': ['clerk', () => shop(new ParallelWorker(clerk()))],
  };
  const places: Record<string, (node: BaseNode) => ToolUnion> = {
    'in a NodeTool': (node) => new NodeTool(node),
    'in tools itself': (node) => node,
    'in a NodeTool of an AgentTool': (node) =>
      new AgentTool({ agent: caller('banker', 'shop', [new NodeTool(node)]) }),
  };

  describe.each(Object.entries(nodes))('%s', (_node, [inner, node]) => {
    it.each(Object.entries(places))('%s', async (_place, tool) => {
      const agent = caller('assistant', 'shop', [tool(node()), bank().pay]);
      await expect(chunksOf(WAYS.SSE, agent)).rejects.toThrow(refusal(inner));
    });
  });

  it('nothing but itself, an agent', async () => {
    const agent = clerk();
    Object.assign(agent, { inputSchema });
    await expect(chunksOf(WAYS.SSE, caller('assistant', 'clerk', [agent, bank().pay]))).rejects.toThrow(
      refusal('clerk', 'clerk'),
    );
  });
});

describe('a tool that is a node of a workflow is refused at start', () => {
  const refused = (tool: string) =>
    `The tool "${tool}" is a node of the workflow "flow", where it cannot wait`;
  const confirmed = new FunctionTool({
    name: 'confirmed',
    description,
    requireConfirmation: true,
    execute: () => 'done',
  });
  const asking = defineTool({ name: 'asking', description, needsApproval: true, execute: () => 'done' });
  const inBrowser = defineTool({ name: 'inBrowser', description, runsOn: 'client' });
  const agentTool = () => new AgentTool({ agent: caller('clerk', 'pay', [bank().pay]) });

  it.each([
    ['only toolsRequiringApproval names it', 'pay', () => bank().pay],
    ['only toolsRequiringApproval names it, in a workflow of the workflow', 'pay', () => shop(bank().pay)],
    ['only toolsRequiringApproval names it, for each item', 'pay', () => new ParallelWorker(bank().pay)],
    ['it asks for a confirmation', 'confirmed', () => confirmed],
    ['it needs approval', 'asking', () => asking],
    ['it runs in the browser', 'inBrowser', () => inBrowser],
    ['it is an agent with tools', 'clerk', agentTool],
  ])('if %s', async (_why, name, node) => {
    await expect(chunksOf(WAYS.SSE, flow(node()))).rejects.toThrow(refused(name));
  });
});

describe.each(Object.entries(TURNS))('over %s', (_way, way) => {
  /** Where the agent that uses the node as a tool is: the whole agent. */
  const places: Record<string, (seller: LlmAgent) => LlmAgent> = {
    'of the agent': (seller) => seller,
    'of an agent that is used as a tool': (seller) =>
      caller('assistant', 'seller', [new AgentTool({ agent: seller }), bank().pay]),
    'of an agent that is used as a tool and cannot pause': (seller) =>
      caller('assistant', 'steps', [new AgentTool({ agent: steps(seller) }), bank().pay]),
  };
  const kinds: [what: string, inner: string, node: (pay: FunctionTool) => RunnableNode][] = [
    ['an agent', 'clerk', (pay) => caller('clerk', 'pay', [pay])],
    ['a SequentialAgent', 'steps', (pay) => steps(caller('clerk', 'pay', [pay]))],
    ['a tool', 'pay', (pay) => new ToolNode(pay)],
  ];

  describe.each(Object.entries(places))('a node that is a tool %s does not pay', (_place, agentWith) => {
    /** Makes the conversation, and checks that nothing was paid and that the response to the model of the seller says why. */
    async function refused(inner: string, tool: (pay: FunctionTool) => ToolUnion): Promise<void> {
      const { pay, paid } = bank();
      const seller = caller('seller', 'shop', [tool(pay), bank().pay]);
      const { model } = seller;
      const chunks = await chunksOf(way, agentWith(seller));
      expect(paid).toEqual([]);
      expect(chunks.filter(({ type }) => type === 'tool-approval-request')).toEqual([]);
      expect(responses(model as ScriptedModel)).toEqual([
        { 'shop-1': { error: expect.stringContaining(refusal(inner)) } },
      ]);
      expect(textOf(chunks)).toMatch(/Done\.$/);
    }

    it.each(kinds)('through %s if a toolset made it', async (_what, inner, node) => {
      await refused(inner, (pay) => new Made(() => new NodeTool(shop(node(pay)))));
    });

    it.each(kinds)('through %s that its function runs', async (_what, inner, node) => {
      await refused(inner, (pay) => new NodeTool(shop(running(() => node(pay)))));
    });
  });

  it.each<[string, (pay: FunctionTool) => RunnableNode, string]>([
    [
      'a SequentialAgent',
      (pay) => steps(caller('clerk', 'pay', [pay])),
      'pay waits for an approval, but no call can wait inside the workflow \\"steps\\"',
    ],
    [
      'a tool',
      (pay) => new ToolNode(pay),
      'The tool \\"pay\\" is a node of the workflow \\"flow\\", where it cannot wait',
    ],
  ])('a function of a workflow does not pay through %s that it runs', async (_what, node, why) => {
    const { pay, paid } = bank();
    const errors: unknown[] = [];
    const logger = { info() {}, warn() {}, error: (...line: unknown[]) => errors.push(line) };
    const agent = new Workflow({
      name: 'flow',
      edges: [['START', running(() => node(pay)), caller('assistant', 'pay', [bank().pay])]],
    });
    const chunks = await chunksOf(way, agent, { logger });
    expect(paid).toEqual([]);
    expect(JSON.stringify([chunks, errors])).toContain(why);
  });

  it('functions run in a node that is used as a tool, in each kind of node', async () => {
    const list = () => [1, 2];
    const twice = (_: NodeContext, input: unknown) => Number(input) * 2;
    const nested = new Workflow({
      name: 'nested',
      edges: [['START', list, new ParallelWorker(twice), new JoinNode({ name: 'join' })]],
    });
    const agent = caller('assistant', 'shop', [shop(nested)]);
    const chunks = await chunksOf(way, agent, { toolsRequiringApproval: [] });
    expect(outputs(chunks)).toEqual([{ 'shop-1': { twice: [2, 4] } }]);
  });
});
