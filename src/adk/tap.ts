import {
  type BaseAgent,
  type InvocationContext,
  isLlmAgent,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
} from '@google/adk';

/**
 * Takes the partial texts of a model call past ADK, straight to whoever shows them: ADK would pass each through a dozen layers
 * that do nothing with it. ADK gets the whole response at the end, as ever. What a tap returns is waited for before more is read.
 */
export type Tap = (response: LlmResponse) => Promise<void> | undefined;

/** A tap that also gets the agent whose model speaks: a response does not name it, ADK's events do. */
export type AgentTap = (response: LlmResponse, from: Speaker) => Promise<void> | undefined;

/** The agent that a text comes from, as in ADK's events. */
export interface Speaker {
  author: string;
  branch: string | undefined;
}

const TAP = Symbol('duologue.tap');
/** Not the same as the one of a call: a connection makes calls out of its request, and only it knows when they may speak past ADK. */
const LIVE_TAP = Symbol('duologue.live-tap');

interface Tapped {
  [TAP]?: Tap;
  [LIVE_TAP]?: Tap;
}

/** Lets a model call, or a live connection, speak through a tap, unless something of the application wants to see partial texts on their way. */
export function putTap(
  request: LlmRequest,
  context: InvocationContext,
  run: { live: boolean; tap?: AgentTap },
): void {
  const { tap, live } = run;
  const { agent, branch } = context;
  if (!tap || !agent || isWatched(context)) return;
  const from: Speaker = { author: agent.name, branch };
  (request as Tapped)[live ? LIVE_TAP : TAP] = (response) => tap(response, from);
}

/** The tap of a model call. It is taken: a model of the application's around another one must not be passed by. */
export function takeTap(request: LlmRequest): Tap | undefined {
  return take(request, TAP);
}

/** The tap of a live connection. It may be used only while ADK waits for the next response: then everything before it is told. */
export function takeLiveTap(request: LlmRequest): Tap | undefined {
  return take(request, LIVE_TAP);
}

function take(request: Tapped & LlmRequest, which: keyof Tapped): Tap | undefined {
  const tap = request[which];
  if (tap) delete request[which];
  return tap;
}

/** Whether a callback, a plugin, a processor or a code executor of the application looks at what the model says, piece by piece. */
function isWatched({ agent, pluginManager }: InvocationContext): boolean {
  // An agent of another kind around it may hold back what it says.
  if (!isLlmAgent(agent) || !isAllPlain(agent.rootAgent)) return true;
  const { plugins } = pluginManager as unknown as { plugins?: Iterable<unknown> };
  // The first is ours.
  const isAlone = plugins !== undefined && [...plugins].length === 1;
  const { canonicalAfterModelCallbacks, responseProcessors, codeExecutor } = agent;
  return (
    !isAlone ||
    canonicalAfterModelCallbacks.length > 0 ||
    responseProcessors.length > 0 ||
    Boolean(codeExecutor)
  );
}

/** Whether a tree has LLM agents of ADK's own making only, which hand over to one another and hold nothing back. */
function isAllPlain(root: BaseAgent): boolean {
  return isLlmAgent(root) && isPlain(root) && root.subAgents.every((agent) => isAllPlain(agent));
}

/** What the events of an agent come out of. Some are protected, and a class of the application may have its own of any. */
const RUNS = ['runAsync', 'runLive', 'runAsyncImpl', 'runLiveImpl'];

function isPlain(agent: LlmAgent): boolean {
  return RUNS.every((name) => Reflect.get(agent, name) === Reflect.get(LlmAgent.prototype, name));
}
