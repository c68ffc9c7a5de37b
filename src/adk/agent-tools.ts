import {
  AgentTool,
  type BaseAgent,
  type BaseTool,
  type Context,
  type InvocationContext,
  isAgentTool,
  type PluginManager,
} from '@google/adk';
import { isConversable } from './agents.ts';
import { pluginIn } from './gate-plugin.ts';
import type { ApprovalOverride, InnerHost } from './run.ts';
import { DuologueTool } from './tools.ts';

/**
 * Returns the agent of an `AgentTool` that runs as a part of the conversation (`agent-tool-runs.ts`), so that calls inside the agent can wait. Returns
 * null for any other tool, for an `AgentTool` whose `runAsync` the application has overridden, and for an agent that ADK cannot resume: such an agent runs in
 * ADK's way, and no call inside it can wait.
 */
export function pausableAgent(tool: BaseTool | undefined): BaseAgent | null {
  if (!isAgentTool(tool) || (tool as BaseTool).runAsync !== AgentTool.prototype.runAsync) return null;
  const { agent } = tool as unknown as { agent: BaseAgent };
  return isConversable(agent) ? agent : null;
}

/** The run of an agent that is used as a tool and cannot pause, as the tools of that agent see it. */
export interface InnerRun {
  /** The names of the tools whose calls need approval, whatever their definitions say (`toolsRequiringApproval`). */
  readonly override: readonly string[] | undefined;
  /** Why the first call that was refused inside this run cannot wait; null while none was refused. The outer call ends with this text. */
  refusal: string | null;
  readonly host: InnerHost | undefined;
  /** Prepares an agent before it runs as a tool. */
  readonly prepare: (agent: BaseAgent) => void;
}

/** Inner runs by the abort signal of the outer call. The signal is the only thing of the outer call that ADK passes on to the agents inside it. */
const runs = new WeakMap<AbortSignal, InnerRun>();

/**
 * Inner runs by the plugin manager of an agent inside. A workflow has an abort signal of its own, but ADK gives it the plugin manager of the agent that
 * uses the workflow as a tool.
 */
const runsByManager = new WeakMap<PluginManager, InnerRun>();

/** The inner run that a context belongs to; undefined for a context of the conversation, or of an agent that can pause. */
export function innerRunOf({ abortSignal, pluginManager }: InvocationContext): InnerRun | undefined {
  return (abortSignal && runs.get(abortSignal)) ?? runsByManager.get(pluginManager);
}

/** Remembers the inner run of a tool that may be a workflow, so that `innerRunOf` finds the run for the agents of that workflow. */
export function noteInnerRun(run: InnerRun, { pluginManager }: InvocationContext): void {
  runsByManager.set(pluginManager, run);
}

/**
 * Runs an agent that is used as a tool where it cannot pause (`agent-tool-runs.ts` runs it everywhere else). ADK runs the agent in a separate run, without
 * plugins and without a user: where a call inside would wait, ADK ends that run and returns an empty text. This function throws the reason instead, so
 * that the outer call fails with it.
 */
async function runAgentTool(
  tool: BaseTool,
  request: { args: Record<string, unknown>; toolContext: Context },
  override: readonly string[] | undefined,
  given: InnerHost | undefined,
): Promise<unknown> {
  const { abortSignal, state, invocationContext } = request.toolContext;
  const outer = innerRunOf(invocationContext);
  const host = given ?? outer?.host;
  const agents = pluginIn(invocationContext)?.agents;
  const prepare = outer?.prepare ?? ((inner: BaseAgent) => agents?.prepareTool(inner));
  const { agent } = tool as unknown as { agent: BaseAgent };
  prepare(agent);
  // ADK writes to the session of the inner agent. Only the owner may write to it, and `open` makes this process the owner.
  await host?.open(agent.name, state.toRecord());
  // For an agent tool inside another agent tool, the outermost call reports the refusal.
  if (!abortSignal || outer) return tool.runAsync(request);
  const run: InnerRun = { override, refusal: null, host, prepare };
  runs.set(abortSignal, run);
  try {
    const output = await tool.runAsync(request);
    if (run.refusal !== null) throw new Error(run.refusal);
    return output;
  } finally {
    runs.delete(abortSignal);
  }
}

/**
 * Refuses a call that would have to wait, inside an agent that is used as a tool and cannot pause. Ends the run of that agent, because its model could not get
 * the answer of the user.
 */
export function refuseInside(run: InnerRun, tool: string, asks: boolean, context: Context): never {
  const what = asks ? 'asks for an approval' : 'waits for an answer from outside';
  run.refusal ??= `${tool} ${what}, which the agent "${context.agentName}" cannot get while it is used as a tool.`;
  context.invocationContext.endInvocation = true;
  throw new Error(run.refusal);
}

/** Runs a tool that the gate has allowed. `override` applies to the tools inside an agent that is used as a tool. */
export function runDecided(
  tool: BaseTool,
  request: { args: Record<string, unknown>; toolContext: Context },
  override: ApprovalOverride,
  host?: InnerHost,
): Promise<unknown> {
  if (isAgentTool(tool)) return runAgentTool(tool, request, override, host);
  return tool instanceof DuologueTool ? tool.runDecided(request) : tool.runAsync(request);
}
