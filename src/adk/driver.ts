import {
  type BaseAgent,
  BasePlugin,
  BaseTool,
  ContextCompactorRequestProcessor,
  EnterpriseWebSearchTool,
  FinishTaskTool,
  GoogleMapsGroundingTool,
  GoogleSearchTool,
  isBaseTool,
  isLlmAgent,
  isWorkflow,
  LlmAgent,
  LoadMemoryTool,
  SkillToolset,
  UrlContextTool,
  VertexAiSearchTool,
  VertexRagRetrievalTool,
} from '@google/adk';
import { type AgentRoot, isConversable, nodeToolsOf } from './agents.ts';
import { Gate, GateBuilder } from './gate.ts';
import { HistoryProcessor } from './history.ts';

/** How ADK runs an agent: one live run for the whole conversation (`runLive`), or one run for each answer (`runAsync`). */
export type Driver = 'live' | 'turn';

/** Everything besides the tree of agents by which `chooseDriver` decides. */
export interface DriverFacts {
  plugins: readonly BasePlugin[];
  /** The option `driver`. */
  asked: Driver | undefined;
  /** Whether a model of the tree can only be used live. */
  isLiveOnly: boolean;
  /** Whether the model accepts audio in a live run. */
  hears: boolean;
}

/** The driver of an agent over a socket. `warning` tells the operator what the choice costs; null when it costs nothing. */
export interface DriverChoice {
  driver: Driver;
  warning: string | null;
}

/** The callbacks and options of an LLM agent that ADK does not support in a live run. */
const AGENT_GAPS = ['beforeModelCallback', 'afterModelCallback', 'outputSchema'] as const;

/** The hooks of a plugin that ADK does not call in a live run, or not for each message. */
const PLUGIN_GAPS = [
  'onUserMessageCallback',
  'beforeModelCallback',
  'afterModelCallback',
  'onModelErrorCallback',
  'beforeToolSelection',
  'afterRunCallback',
] as const;

/**
 * The tools whose `processLlmRequest` adds the same to each request: a declaration or a constant instruction. In a live run ADK calls that method only once,
 * when the run begins, which is enough for these.
 */
const CONSTANT_TOOLS: ReadonlySet<unknown> = new Set(
  [
    BaseTool,
    EnterpriseWebSearchTool,
    FinishTaskTool,
    Gate,
    GoogleMapsGroundingTool,
    GoogleSearchTool,
    LoadMemoryTool,
    UrlContextTool,
    VertexAiSearchTool,
    VertexRagRetrievalTool,
  ].map(({ prototype }) => prototype.processLlmRequest),
);

/**
 * Chooses how ADK runs an agent over a socket. LLM agents and routed agents run live. Trees with other agents run turn by turn, because in a live run ADK does
 * not run some of those agents at all, and others for one step only. An agent with a callback, plugin, tool or option that a live run does not support runs
 * turn by turn too, so that no guardrail is skipped; if its model accepts audio, the warning says that the agent gets no sound. The option `driver` comes
 * before these rules, and LLM agents whose model can only be used live run live even with such a callback: the warning then names what ADK does not support.
 * Throws when the agent must be driven turn by turn and a model can only be used live, and for a workflow with the option `driver: "live"`.
 */
export function chooseDriver(
  root: AgentRoot,
  { plugins, asked, isLiveOnly, hears }: DriverFacts,
): DriverChoice {
  if (isWorkflow(root)) return driverOfWorkflow(root.name, asked, isLiveOnly);
  const driver = asked ?? (isConversable(root) ? 'live' : 'turn');
  if (driver === 'turn' && isLiveOnly) {
    const why =
      asked === 'turn' ? 'the option driver is "turn"' : 'ADK cannot run such a tree of agents live';
    throw new Error(
      `The agent "${root.name}" is driven turn by turn, because ${why}, but one of its models can only be used live. Give that agent another model.`,
    );
  }
  const gaps = driver === 'live' ? liveGaps(root, plugins) : [];
  if (gaps.length === 0) return { driver, warning: null };
  const list = gaps.join(', ');
  if (asked === 'live' || isLiveOnly) {
    const why = asked === 'live' ? 'the option driver is "live"' : 'its model can only be used live';
    const warning = `Over a WebSocket the agent "${root.name}" is run live, since ${why}. ADK does not support in live runs: ${list}.`;
    return { driver, warning };
  }
  const warning = `Over a WebSocket the agent "${root.name}" is driven turn by turn and gets no sound, because ADK does not support this in live runs: ${list}. Set the option driver: "live" to run it live without them.`;
  return { driver: 'turn', warning: hears ? warning : null };
}

/**
 * Chooses the driver of a workflow. ADK cannot run a workflow live, so it is driven turn by turn. Throws when the options or a model allow live runs
 * only.
 */
function driverOfWorkflow(name: string, asked: Driver | undefined, isLiveOnly: boolean): DriverChoice {
  const why =
    asked === 'live'
      ? 'Leave the option driver: "live" out.'
      : isLiveOnly
        ? 'One of its models can only be used live: give that agent another model.'
        : null;
  if (why !== null) throw new Error(`ADK cannot run the workflow "${name}" live. ${why}`);
  return { driver: 'turn', warning: null };
}

/** Lists what ADK does not support in a live run of a tree, for a warning: `beforeModelCallback of the agent "teller"`. */
function liveGaps(root: BaseAgent, plugins: readonly BasePlugin[]): string[] {
  return [
    ...agentGaps(root),
    ...plugins.flatMap((plugin) =>
      PLUGIN_GAPS.filter((hook) => plugin[hook] !== BasePlugin.prototype[hook]).map(
        (hook) => `${hook} of the plugin "${plugin.name}"`,
      ),
    ),
  ];
}

function agentGaps(agent: BaseAgent): string[] {
  const gaps: string[] = isLlmAgent(agent) ? AGENT_GAPS.filter((name) => isGiven(agent[name])) : [];
  if (isLlmAgent(agent) && readsState(agent)) gaps.push('changes of the state in the instruction');
  if (isLlmAgent(agent) && computesInstruction(agent)) gaps.push('the function of the instruction');
  if (isLlmAgent(agent)) gaps.push(...processorGaps(agent));
  if (isLlmAgent(agent)) gaps.push(...toolGaps(agent));
  return [
    ...gaps.map((name) => `${name} of the agent "${agent.name}"`),
    ...agent.subAgents.flatMap(agentGaps),
  ];
}

/** The tools of an agent that need something which ADK does for each model request turn by turn, but only once, or never, in a live run. */
function toolGaps(agent: LlmAgent): string[] {
  return [
    ...nodeToolsOf(agent).map(({ name }) => `the node "${name}" in the tools`),
    ...agent.tools.flatMap((tool) => {
      // A skill that the model loads brings tools of its own, which ADK finds when it prepares the next request.
      if (tool instanceof SkillToolset) return ['tools of skills in the SkillToolset'];
      const isConstant = !isBaseTool(tool) || CONSTANT_TOOLS.has(tool.processLlmRequest);
      return isConstant ? [] : [`processLlmRequest of the tool "${tool.name}"`];
    }),
  ];
}

/** Whether an instruction is a function (`InstructionProvider`): ADK calls it only once for a whole live run. */
function computesInstruction({ instruction, globalInstruction }: LlmAgent): boolean {
  return [instruction, globalInstruction].some((given) => typeof given === 'function');
}

/** Whether an instruction has a placeholder for a state value (`{name}`): ADK fills it in only once for a whole live run. */
function readsState({ instruction, globalInstruction }: LlmAgent): boolean {
  return [instruction, globalInstruction].some(
    (text) => typeof text === 'string' && /\{[\w:.]+\??\}/.test(text),
  );
}

/** The processors that ADK gives each agent. In a live run ADK calls a processor only once, when the run begins, which is enough for these. */
const OF_ADK: ReadonlySet<unknown> = new Set(new LlmAgent({ name: 'sample' }).requestProcessors);

/** The processors of an agent that change each request: those of the application, and compactors. Those of the server are not among them. */
function processorGaps({ requestProcessors }: LlmAgent): string[] {
  const own = requestProcessors.filter(
    (one) => !OF_ADK.has(one) && !(one instanceof HistoryProcessor || one instanceof GateBuilder),
  );
  const compactors = own.filter((one) => one instanceof ContextCompactorRequestProcessor);
  return [
    ...(compactors.length > 0 ? ['contextCompactors'] : []),
    ...(own.length > compactors.length ? ['requestProcessors'] : []),
  ];
}

function isGiven(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null;
}
