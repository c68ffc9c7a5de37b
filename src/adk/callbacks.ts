import {
  type BaseAgent,
  BasePlugin,
  type BaseTool,
  type Context,
  type InvocationContext,
  isBaseToolset,
  isLlmAgent,
  type LlmAgent,
  type PluginManager,
} from '@google/adk';
import { type AgentRoot, agentsIn } from './agents.ts';
import { DuologueTool } from './tools.ts';

/** Marks a gated tool (`gate.ts`). When a call of such a tool waits for a user or the browser, its `runAsync` returns to ADK without a response. */
export const GATED = Symbol('duologue.gated');

/** How a gated tool ended, by the context of its call. A call has no entry if it waits, was refused, or failed inside an agent that cannot pause. */
const ends = new WeakMap<Context, 'returned' | 'threw'>();

/** Marks the context of a call whose gated tool ran, so that ADK calls the after-tool callbacks for it. */
export function markRun(context: Context, end: 'returned' | 'threw'): void {
  ends.set(context, end);
}

/**
 * Whether the after-tool callbacks should be called for a call. ADK calls them for every call, even for one that waits for a user and has no response
 * yet, and uses their return value as the output. A tool that threw has no response either, unless a plugin gave one.
 */
function hasResponse(tool: BaseTool, context: Context, response: unknown): boolean {
  if (!(GATED in tool)) return true;
  const end = ends.get(context);
  return end === 'returned' || (end === 'threw' && response != null);
}

/** Keeps ADK from calling the after-tool callbacks of an agent for calls whose tool has not run. Guarding an agent again changes nothing. */
export function guardAgentCallbacks(agent: LlmAgent): void {
  const name = 'canonicalAfterToolCallbacks';
  if (Object.hasOwn(agent, name)) return;
  const read = () => Reflect.get(Object.getPrototypeOf(agent), name, agent) as LlmAgent[typeof name];
  const get = (): LlmAgent[typeof name] =>
    read().map(
      (callback) => (params) =>
        hasResponse(params.tool, params.context, params.response) ? callback(params) : undefined,
    );
  Object.defineProperty(agent, name, { get, configurable: true });
}

/** Keeps ADK from calling the after-tool callbacks of the runner's plugins for calls whose tool has not run. */
export function guardPluginCallbacks(manager: PluginManager): void {
  const run = manager.runAfterToolCallback.bind(manager);
  manager.runAfterToolCallback = async (params) =>
    hasResponse(params.tool, params.toolContext, params.result) ? run(params) : undefined;
}

/**
 * Whether the application may check an output of the browser before it is used: by after-tool callbacks of its agents, by plugins (each may have such a
 * callback), or by the output schema of a tool (a toolset may have such a tool).
 */
export function looksAtOutputs(root: AgentRoot, plugins: readonly unknown[]): boolean {
  const looks = (agent: BaseAgent): boolean =>
    isLlmAgent(agent) &&
    (agent.canonicalAfterToolCallbacks.length > 0 ||
      agent.tools.some((tool) => (tool instanceof DuologueTool ? tool.checksOutput : isBaseToolset(tool))));
  return plugins.length > 0 || [...agentsIn(root)].some(looks);
}

/** Whether the application has before-tool callbacks for the calls of an agent. They may change the arguments of a call. */
export function hasBeforeToolCallbacks({ agent, pluginManager }: InvocationContext): boolean {
  const { plugins = [] } = pluginManager as unknown as { plugins?: Iterable<BasePlugin> };
  const { beforeToolCallback } = BasePlugin.prototype;
  return (
    (isLlmAgent(agent) && agent.canonicalBeforeToolCallbacks.length > 0) ||
    [...plugins].some((plugin) => plugin.beforeToolCallback !== beforeToolCallback)
  );
}

/** A call whose after-tool callbacks are still to be called: its tool, agent, arguments and context. */
export interface AnsweredCall {
  tool: BaseTool;
  agent: BaseAgent;
  args: Record<string, unknown>;
  context: Context;
}

/**
 * Calls the after-tool callbacks in ADK's order for a call that ran outside of ADK's loop. Returns the output, or the value that a callback replaced it
 * with. When a callback fails, throws an error which says that the tool ran.
 */
export async function runAfterTool(
  { tool, agent, args, context }: AnsweredCall,
  output: unknown,
): Promise<unknown> {
  const response = output as Record<string, unknown>;
  const { pluginManager } = context.invocationContext;
  try {
    let altered: unknown = await pluginManager.runAfterToolCallback({
      tool,
      toolArgs: args,
      toolContext: context,
      result: response,
    });
    const callbacks = isLlmAgent(agent) ? agent.canonicalAfterToolCallbacks : [];
    for (const callback of callbacks) altered ??= await callback({ tool, args, context, response });
    return altered ?? output;
  } catch (error) {
    // The tool has already run. The error must say so, or the user and the model would try the call again.
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`${tool.name} ran, but a callback after it failed: ${why}`);
  }
}
