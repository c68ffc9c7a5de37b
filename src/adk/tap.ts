import { type InvocationContext, isLlmAgent, type LlmRequest, type LlmResponse } from '@google/adk';

/**
 * Takes the partial texts of a model call past ADK, straight to whoever shows them: ADK would pass each through a dozen layers
 * that do nothing with it. ADK gets the whole response at the end, as ever. What a tap returns is waited for before more is read.
 */
export type Tap = (response: LlmResponse) => Promise<void> | undefined;

const TAP = Symbol('duologue.tap');

interface Tapped {
  [TAP]?: Tap;
}

/** Lets a model call speak through a tap, unless something of the application wants to see partial texts on their way. */
export function putTap(request: LlmRequest, context: InvocationContext, tap: Tap | undefined): void {
  if (tap && !isWatched(context)) (request as Tapped)[TAP] = tap;
}

/** The tap of a model call. */
export function tapOf(request: LlmRequest): Tap | undefined {
  return (request as Tapped)[TAP];
}

/** Whether a callback, a plugin or a code executor of the application looks at what the model says, piece by piece. */
function isWatched({ agent, pluginManager }: InvocationContext): boolean {
  if (!isLlmAgent(agent)) return true;
  const { plugins } = pluginManager as unknown as { plugins?: Iterable<unknown> };
  // The first is ours.
  const isAlone = plugins !== undefined && [...plugins].length === 1;
  return !isAlone || agent.canonicalAfterModelCallbacks.length > 0 || Boolean(agent.codeExecutor);
}
