import { type BaseAgent, BasePlugin, isLlmAgent, isRoutedAgent } from '@google/adk';

/** What drives an agent: one live run for everything that is said (`runLive`), or one run for each answer (`runAsync`). */
export type Driver = 'live' | 'turn';

/** What the choice of a driver depends on beside the agent. */
export interface DriverFacts {
  plugins: readonly BasePlugin[];
  /** The option `driver`. */
  asked: Driver | undefined;
  /** Whether a model of the tree can only be used live. */
  isLiveOnly: boolean;
  /** Whether the model hears sound when it is used live. */
  hears: boolean;
}

/** The driver of an agent behind a socket, and what the operator has to know about the choice. */
export interface DriverChoice {
  driver: Driver;
  warning: string | null;
}

/** The callbacks and options of an LLM agent that ADK ignores in a live run. */
const AGENT_GAPS = ['beforeModelCallback', 'afterModelCallback', 'outputSchema'] as const;

/** The hooks of a plugin that ADK does not call in a live run, or not for each message. */
const PLUGIN_GAPS = [
  'onUserMessageCallback',
  'beforeModelCallback',
  'afterModelCallback',
  'onModelErrorCallback',
  'afterRunCallback',
] as const;

/**
 * Chooses what drives an agent behind a socket. LLM agents are driven live; trees with other agents turn by turn, since ADK runs some of
 * those not at all and others for one step only. An agent with a callback, plugin or output schema that a live run would ignore is driven
 * turn by turn as well, so that no guardrail is skipped. The option `driver` decides first, and a model that can only be used live is used
 * live: the warning then names what ADK ignores.
 */
export function chooseDriver(
  root: BaseAgent,
  { plugins, asked, isLiveOnly, hears }: DriverFacts,
): DriverChoice {
  const driver = asked ?? (isLiveTree(root) ? 'live' : 'turn');
  const gaps = driver === 'live' ? liveGaps(root, plugins) : [];
  if (gaps.length === 0) return { driver, warning: null };
  const list = gaps.join(', ');
  if (asked === 'live' || isLiveOnly) {
    const why = asked === 'live' ? 'the option driver is "live"' : 'its model can only be used live';
    const warning = `Over a WebSocket the agent "${root.name}" is run live, since ${why}. ADK ignores in live runs: ${list}.`;
    return { driver, warning };
  }
  const warning = `Over a WebSocket the agent "${root.name}" is driven turn by turn and hears no sound, since ADK ignores in live runs: ${list}. The option driver: "live" runs it live without them.`;
  return { driver: 'turn', warning: hears ? warning : null };
}

/** What a live run of a tree would ignore, in words: `beforeModelCallback of the agent "teller"`. */
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
  const gaps = isLlmAgent(agent) ? AGENT_GAPS.filter((name) => isGiven(agent[name])) : [];
  return [
    ...gaps.map((name) => `${name} of the agent "${agent.name}"`),
    ...agent.subAgents.flatMap(agentGaps),
  ];
}

function isGiven(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null;
}

/** Whether ADK can run a whole tree live. */
function isLiveTree(root: BaseAgent): boolean {
  return converses(root) && root.subAgents.every(isLiveTree);
}

/** Whether an agent talks with the person itself, or hands over to one that does. */
export function converses(agent: BaseAgent): boolean {
  return isLlmAgent(agent) || isRoutedAgent(agent);
}
