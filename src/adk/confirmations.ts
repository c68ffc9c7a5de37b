import type { BaseTool, Context, LlmAgent, PluginManager } from '@google/adk';
import type { Question } from '../protocol/index.ts';
import { innerRunOf } from './agent-tools.ts';
import { GATED } from './callbacks.ts';
import { pluginIn } from './gate-plugin.ts';
import { confirmationQuestion } from './questions.ts';

/**
 * Returns the confirmation that a tool requested while it ran, as a question; undefined when it requested none. Removes the request from the context, because
 * the gate asks the user instead of ADK.
 */
export function takeConfirmationRequest(context: Context, callId: string): Question | undefined {
  const requested = context.actions.requestedToolConfirmations;
  const confirmation = requested && Object.hasOwn(requested, callId) ? requested[callId] : undefined;
  if (!confirmation) return undefined;
  delete requested[callId];
  context.actions.skipSummarization = false;
  return confirmationQuestion(confirmation);
}

/** The confirmations that before-tool callbacks requested, by the context of the call. */
const requests = new WeakMap<Context, Question>();

/** The confirmation that a before-tool callback of an agent or a plugin requested for a call, as a question; undefined when none did. */
export function requestedBefore(context: Context): Question | undefined {
  return requests.get(context);
}

/**
 * Takes the confirmation that a before-tool callback requested for a call, for the gate of its tool. Returns whether the gate asks: then the response of
 * the callback is only ADK's placeholder, and the gate must get the call. Outside the runs of the server no gate asks, so the request stays with ADK.
 */
function takeFor(tool: BaseTool, context: Context): boolean {
  const { functionCallId: id, invocationContext } = context;
  if (!(GATED in tool) || id === undefined) return false;
  if (!pluginIn(invocationContext) && !innerRunOf(invocationContext)) return false;
  const question = takeConfirmationRequest(context, id);
  if (question) requests.set(context, question);
  return question !== undefined;
}

/** Lets the before-tool callbacks of an agent request confirmations from the gates of its tools. Guarding an agent again changes nothing. */
export function guardAgentConfirmations(agent: LlmAgent): void {
  const name = 'canonicalBeforeToolCallbacks';
  if (Object.hasOwn(agent, name)) return;
  const read = () => Reflect.get(Object.getPrototypeOf(agent), name, agent) as LlmAgent[typeof name];
  const get = (): LlmAgent[typeof name] =>
    read().map((callback) => async (params) => {
      const response = await callback(params);
      return takeFor(params.tool, params.context) ? undefined : response;
    });
  Object.defineProperty(agent, name, { get, configurable: true });
}

/** Lets the before-tool callbacks of the runner's plugins request confirmations from the gates of tools. */
export function guardPluginConfirmations(manager: PluginManager): void {
  const run = manager.runBeforeToolCallback.bind(manager);
  manager.runBeforeToolCallback = async (params) => {
    const response = await run(params);
    return takeFor(params.tool, params.toolContext) ? undefined : response;
  };
}
