import {
  AgentTool,
  type BaseAgent,
  BaseLlmRequestProcessor,
  BasePlugin,
  BaseTool,
  ENTERPRISE_WEB_SEARCH,
  type Event,
  ExampleTool,
  FunctionTool,
  GOOGLE_MAPS_GROUNDING,
  GOOGLE_SEARCH,
  LlmAgent,
  LOAD_ARTIFACTS,
  LOAD_MEMORY,
  LogLevel,
  LongRunningFunctionTool,
  NodeTool,
  PRELOAD_MEMORY,
  SequentialAgent,
  SkillToolset,
  setLogLevel,
  TruncatingContextCompactor,
  URL_CONTEXT,
  VertexAiSearchTool,
  VertexRagRetrievalTool,
  Workflow,
} from '@google/adk';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { chooseDriver } from '../../src/adk/driver.ts';
import { Gate, instrument } from '../../src/adk/gate.ts';
import { defineTool } from '../../src/adk/index.ts';

setLogLevel(LogLevel.ERROR);

type Place = 'root' | 'sub-agent' | 'plugin';

const OWNER: Record<Place, string> = {
  root: 'the agent "parent"',
  'sub-agent': 'the agent "child"',
  plugin: 'the plugin "guard"',
};

/** Everything that ADK does not support in a live run, by where it stands. */
const GAPS: [Place, string][] = [
  ...(['root', 'sub-agent'] as const).flatMap((place) =>
    ['beforeModelCallback', 'afterModelCallback', 'outputSchema'].map((name): [Place, string] => [
      place,
      name,
    ]),
  ),
  ['plugin', 'onUserMessageCallback'],
  ['plugin', 'beforeModelCallback'],
  ['plugin', 'afterModelCallback'],
  ['plugin', 'onModelErrorCallback'],
  ['plugin', 'beforeToolSelection'],
  ['plugin', 'afterRunCallback'],
];

/** What ADK supports in a live run as well. */
const HONOURED: [Place, string][] = [
  ['root', 'beforeToolCallback'],
  ['root', 'afterToolCallback'],
  ['root', 'beforeAgentCallback'],
  ['sub-agent', 'outputKey'],
  ['plugin', 'beforeToolCallback'],
  ['plugin', 'onEventCallback'],
];

const VALUES: Record<string, unknown> = { outputSchema: z.object({}), outputKey: 'key' };

/** An agent with a sub-agent and plugins, one of which has the callback or option. */
function treeWith(place: Place, name: string): { agent: BaseAgent; plugins: BasePlugin[] } {
  const value = VALUES[name] ?? (() => undefined);
  const extra = (where: Place) => (where === place ? { [name]: value } : {});
  const child = new LlmAgent({ name: 'child', ...extra('sub-agent') });
  const guard = Object.assign(new (class extends BasePlugin {})('guard'), extra('plugin'));
  return {
    agent: new LlmAgent({ name: 'parent', subAgents: [child], ...extra('root') }),
    plugins: [guard],
  };
}

/** A tool that adds the time to each request. */
class Clock extends BaseTool {
  constructor() {
    super({ name: 'clock', description: 'Adds the time to each request.' });
  }

  override async processLlmRequest({ llmRequest }: Parameters<BaseTool['processLlmRequest']>[0]) {
    llmRequest.contents.push({ role: 'user', parts: [{ text: 'It is noon.' }] });
  }

  override async runAsync() {}
}

/** A processor of the application. */
class Reminder extends BaseLlmRequestProcessor {
  override async *runAsync(): AsyncGenerator<Event, void, void> {}
}

const shop = new Workflow({
  name: 'shop',
  inputSchema: z.object({}),
  edges: [['START', new LlmAgent({ name: 'seller' })]],
});
const FACTS = { asked: undefined, isLiveOnly: false, hears: false };

describe('what drives an agent behind a socket', () => {
  describe.each(GAPS)('with %s, %s', (place, name) => {
    const { agent, plugins } = treeWith(place, name);
    const gap = `${name} of ${OWNER[place]}.`;

    it('is one run for each answer', () => {
      expect(chooseDriver(agent, { ...FACTS, plugins })).toEqual({ driver: 'turn', warning: null });
    });

    it('is one run for each answer, with a warning that a model which could hear sound gets none', () => {
      expect(chooseDriver(agent, { ...FACTS, plugins, hears: true })).toEqual({
        driver: 'turn',
        warning: `Over a WebSocket the agent "parent" is driven turn by turn and gets no sound, because ADK does not support this in live runs: ${gap} Set the option driver: "live" to run it live without them.`,
      });
    });

    it('is one live run where the operator asks for it, with a warning that names it', () => {
      expect(chooseDriver(agent, { ...FACTS, plugins, asked: 'live' })).toEqual({
        driver: 'live',
        warning: `Over a WebSocket the agent "parent" is run live, since the option driver is "live". ADK does not support in live runs: ${gap}`,
      });
    });

    it('is one live run where a model can only be used live, with a warning that names it', () => {
      expect(chooseDriver(agent, { ...FACTS, plugins, isLiveOnly: true, hears: true })).toEqual({
        driver: 'live',
        warning: `Over a WebSocket the agent "parent" is run live, since its model can only be used live. ADK does not support in live runs: ${gap}`,
      });
    });

    it('is one run for each answer where the operator asks for it', () => {
      expect(chooseDriver(agent, { ...FACTS, plugins, asked: 'turn', hears: true })).toEqual({
        driver: 'turn',
        warning: null,
      });
    });
  });

  it.each(HONOURED)('is one live run with %s, %s, which ADK supports there', (place, name) => {
    const { agent, plugins } = treeWith(place, name);
    expect(chooseDriver(agent, { ...FACTS, plugins })).toEqual({ driver: 'live', warning: null });
  });

  it.each<[string, ConstructorParameters<typeof LlmAgent>[0]]>([
    ['changes of the state in the instruction', { name: 'child', instruction: 'Call them {user:name?}.' }],
    [
      'contextCompactors',
      { name: 'child', contextCompactors: [new TruncatingContextCompactor({ threshold: 3 })] },
    ],
    ['requestProcessors', { name: 'child', requestProcessors: [new Reminder()] }],
    ['the function of the instruction', { name: 'child', instruction: () => 'Be brief.' }],
    ['the function of the instruction', { name: 'child', globalInstruction: async () => 'Be brief.' }],
    ['processLlmRequest of the tool "load_artifacts"', { name: 'child', tools: [LOAD_ARTIFACTS] }],
    ['processLlmRequest of the tool "preload_memory"', { name: 'child', tools: [PRELOAD_MEMORY] }],
    ['processLlmRequest of the tool "example_tool"', { name: 'child', tools: [new ExampleTool([])] }],
    ['processLlmRequest of the tool "clock"', { name: 'child', tools: [new Clock()] }],
    ['tools of skills in the SkillToolset', { name: 'child', tools: [new SkillToolset([])] }],
    ['the node "shop" in the tools', { name: 'child', tools: [shop] }],
    ['the node "sell" in the tools', { name: 'child', tools: [new NodeTool(shop, 'sell')] }],
  ])(
    'is one run for each answer where a live run does not support %s; a live model gets a warning',
    (gap, config) => {
      const agent = new LlmAgent({ name: 'parent', subAgents: [new LlmAgent(config)] });
      expect(chooseDriver(agent, { ...FACTS, plugins: [] })).toEqual({ driver: 'turn', warning: null });
      expect(chooseDriver(agent, { ...FACTS, plugins: [], isLiveOnly: true })).toEqual({
        driver: 'live',
        warning: `Over a WebSocket the agent "parent" is run live, since its model can only be used live. ADK does not support in live runs: ${gap} of the agent "child".`,
      });
    },
  );

  it('is one live run where the tools add the same to each request, also after a request', () => {
    const tools = [
      GOOGLE_SEARCH,
      URL_CONTEXT,
      ENTERPRISE_WEB_SEARCH,
      GOOGLE_MAPS_GROUNDING,
      LOAD_MEMORY,
      new VertexAiSearchTool({ dataStoreId: 'store' }),
      new VertexRagRetrievalTool({}),
      new FunctionTool({ name: 'look', description: 'Looks.', execute: () => 'seen' }),
      new LongRunningFunctionTool({ name: 'wait', description: 'Waits.', execute: () => 'waited' }),
      new AgentTool({ agent: new LlmAgent({ name: 'banker' }) }),
      defineTool({ name: 'pay', description: 'Pays.', needsApproval: true, execute: () => 'paid' }),
      new Gate(),
    ];
    const agent = new LlmAgent({ name: 'parent', tools });
    expect(chooseDriver(agent, { ...FACTS, plugins: [] })).toEqual({ driver: 'live', warning: null });
  });

  it('is one live run for an agent that another server has prepared before', () => {
    const agent = new LlmAgent({ name: 'parent', tools: [LOAD_MEMORY] });
    instrument(agent);
    expect(chooseDriver(agent, { ...FACTS, plugins: [] })).toEqual({ driver: 'live', warning: null });
  });

  it('is one live run where the instruction has no state in it', () => {
    const instruction = 'Answer as JSON, such as {"a": 1} or { }.';
    const agent = new LlmAgent({ name: 'parent', instruction });
    expect(chooseDriver(agent, { ...FACTS, plugins: [] }).driver).toBe('live');
  });

  it('is refused in words where an agent runs turn by turn and a model can only be used live', () => {
    const agent = new LlmAgent({ name: 'speaker' });
    const flow = new SequentialAgent({ name: 'flow', subAgents: [agent] });
    const facts = { ...FACTS, plugins: [], isLiveOnly: true };
    expect(() => chooseDriver(flow, facts)).toThrow(
      /^The agent "flow" is driven turn by turn, because ADK cannot run such a tree/,
    );
    expect(() => chooseDriver(agent, { ...facts, asked: 'turn' })).toThrow(
      /^The agent "speaker" is driven turn by turn, because the option driver is "turn"/,
    );
  });

  it('is one live run for a tree of LLM agents, and one run for each answer for a workflow', () => {
    const { agent } = treeWith('plugin', 'onEventCallback');
    expect(chooseDriver(agent, { ...FACTS, plugins: [] }).driver).toBe('live');
    const flow = new SequentialAgent({ name: 'flow', subAgents: [agent] });
    expect(chooseDriver(flow, { ...FACTS, plugins: [] }).driver).toBe('turn');
  });

  it('names every gap in one warning; an empty list of callbacks is none', () => {
    const child = new LlmAgent({ name: 'child', afterModelCallback: [() => undefined] });
    const agent = new LlmAgent({
      name: 'parent',
      subAgents: [child],
      beforeModelCallback: [],
      outputSchema: z.object({}),
    });
    expect(chooseDriver(agent, { ...FACTS, plugins: [], asked: 'live' }).warning).toContain(
      'ADK does not support in live runs: outputSchema of the agent "parent", afterModelCallback of the agent "child".',
    );
  });
});
