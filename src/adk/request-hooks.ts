import {
  type BaseAgent,
  type InvocationContext,
  isLlmAgent,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
} from '@google/adk';

// A run passes these functions to its model calls and live connections on the model request: ADK offers no other way from a run to its model.

/**
 * Receives the partial texts of a model call in place of ADK, whose dozen layers would each handle every token and change nothing. ADK still gets the
 * whole response at the end. If the fast path returns a promise, the model's next output is read after the promise resolves.
 */
export type FastPath = (response: LlmResponse) => Promise<void> | undefined;

/** A fast path that also gets the agent whose model produces the text. A model response does not name its agent; ADK's events do. */
export type AgentFastPath = (response: LlmResponse, from: Speaker) => Promise<void> | undefined;

/** The agent that produced a text, with the fields by which ADK's events name it. */
export interface Speaker {
  author: string;
  branch: string | undefined;
}

/**
 * Reserves the id that a model gave to a call. Resolves with false when the conversation has had a call with this id, which the model may not have seen: in a
 * turn that was discarded, in another branch, or inside an agent that is used as a tool. The new call then needs another id. Never rejects.
 */
export type ClaimCallId = (id: string) => Promise<boolean>;

const CALL = Symbol('duologue.fast-path');
/**
 * The key for the fast path of a live connection. It differs from `CALL`, because a live connection may make model calls with its own request, and only
 * the connection knows when their texts may bypass ADK.
 */
const LIVE = Symbol('duologue.live-fast-path');

const CLAIM = Symbol('duologue.claim-call-id');

interface WithHooks {
  [CALL]?: FastPath;
  [LIVE]?: FastPath;
  [CLAIM]?: ClaimCallId;
}

/** Gives a model call, or a live connection, the fast path of its run, unless code of the application looks at partial texts. */
export function addFastPath(
  request: LlmRequest,
  context: InvocationContext,
  run: { live: boolean; fastPath?: AgentFastPath },
): void {
  const { fastPath, live } = run;
  const { agent, branch } = context;
  if (!fastPath || !agent || isWatched(context)) return;
  const from: Speaker = { author: agent.name, branch };
  (request as WithHooks)[live ? LIVE : CALL] = (response) => fastPath(response, from);
}

/**
 * Removes and returns the fast path of a model call; undefined when there is none. It is removed because an application's own model may pass the request to
 * another model, whose texts must not bypass the application's model.
 */
export function takeFastPath(request: LlmRequest): FastPath | undefined {
  return take(request, CALL);
}

/**
 * Removes and returns the fast path of a live connection; undefined when there is none. Use it only while ADK waits for the next response: then ADK has
 * handled all earlier ones.
 */
export function takeLiveFastPath(request: LlmRequest): FastPath | undefined {
  return take(request, LIVE);
}

/** Gives a model call, or a live connection, the function with which it reserves the ids of calls. */
export function addClaim(request: LlmRequest, claim: ClaimCallId): void {
  (request as WithHooks)[CLAIM] = claim;
}

/**
 * Removes and returns the function with which a model call reserves the ids of calls; undefined when there is none. It is removed because a model of the
 * application may pass the request to another model, and an id can be reserved only once.
 */
export function takeClaim(request: LlmRequest): ClaimCallId | undefined {
  return take(request, CLAIM);
}

function take<Key extends keyof WithHooks>(request: WithHooks & LlmRequest, which: Key): WithHooks[Key] {
  const hook = request[which];
  if (hook) delete request[which];
  return hook;
}

/** Whether code of the application may look at partial texts: a callback, a plugin, a processor, a code executor, or an agent of a class of its own. */
function isWatched({ agent, pluginManager }: InvocationContext): boolean {
  // A parent agent that is not a plain LLM agent may withhold the texts of this agent.
  if (!isLlmAgent(agent) || !isAllPlain(agent.rootAgent)) return true;
  const { plugins } = pluginManager as unknown as { plugins?: Iterable<unknown> };
  // The gate plugin is always there; any other plugin belongs to the application.
  const isAlone = plugins !== undefined && [...plugins].length === 1;
  const { canonicalAfterModelCallbacks, responseProcessors, codeExecutor } = agent;
  return (
    !isAlone ||
    canonicalAfterModelCallbacks.length > 0 ||
    responseProcessors.length > 0 ||
    Boolean(codeExecutor)
  );
}

/** Whether a tree has only LLM agents of ADK's own class, which pass on every text. */
function isAllPlain(root: BaseAgent): boolean {
  return isLlmAgent(root) && isPlain(root) && root.subAgents.every((agent) => isAllPlain(agent));
}

/** The methods that produce the events of an agent. A class of the application may override any of them. */
const RUNS = ['runAsync', 'runLive', 'runAsyncImpl', 'runLiveImpl'];

function isPlain(agent: LlmAgent): boolean {
  return RUNS.every((name) => Reflect.get(agent, name) === Reflect.get(LlmAgent.prototype, name));
}
