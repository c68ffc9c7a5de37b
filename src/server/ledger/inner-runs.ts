import type { Session as AdkSession, BaseTool } from '@google/adk';
import {
  concernsCall,
  type DeferredCall,
  danglingCalls,
  findTool,
  type InnerHost,
  innerPlugins,
  pausableAgent,
} from '../../adk/for-server.ts';
import type { Engine } from '../engine.ts';
import type { CallRecord } from '../store/store.ts';
import { type History, innerAgentsIn } from './history.ts';

/** How many reserved ids of calls are kept in memory. Older ones are in the history. */
const MAX_CLAIMED = 1000;

/** The objects of a conversation that `toolOf` and `placeOf` use. */
export interface ToolSource {
  engine: Engine;
  history: History;
}

/** Creates the interface through which runs of agents that are used as tools use their conversation. `defer` records a call that such an agent made. */
export function innerHost(
  { engine: { store }, history }: ToolSource,
  defer: (call: DeferredCall) => Promise<void>,
): InnerHost {
  return {
    open: (agentName, state) => history.loadInner(agentName, state),
    hasOlder: (session) => history.hasOlder(session),
    async find(callId) {
      const call = await history.findCall(store, callId);
      return call && { within: call.agents?.within ?? null, hasEnded: call.status === 'settled' };
    },
    answersWithin: (callId, ids) => history.answersWithin(store, callId, ids),
    defer,
    claimCallId: claimer(store, history),
    pending: new Map(),
  };
}

/** Providers give calls random ids of at least this many characters. A shorter id, such as `call_0`, may be given twice in a conversation. */
const RANDOM_ID_LENGTH = 20;

/** Creates the function that reserves ids of calls for a conversation. */
function claimer(store: Engine['store'], history: History): InnerHost['claimCallId'] {
  const claimed = new Set<string>();
  const isUsed = async (id: string): Promise<boolean> => {
    const session = await history.load();
    if (session.events.some((event) => concernsCall(event, id))) return true;
    const hasOlder = history.hasOlder(session);
    // Plain calls of older events are in no record, and reading all older events would cost too much for each call. So an id that may be a counter
    // counts as used.
    if (hasOlder && id.length < RANDOM_ID_LENGTH) return true;
    // An agent that is used as a tool has a session of its own, and clients see only those of its calls that are recorded.
    const mayBeElsewhere = hasOlder || innerAgentsIn(session.state).length > 0;
    return mayBeElsewhere && (await history.findCall(store, id)) !== null;
  };
  return async (id) => {
    if (claimed.has(id)) return false;
    claimed.add(id);
    const [oldest] = claimed;
    if (claimed.size > MAX_CLAIMED && oldest !== undefined) claimed.delete(oldest);
    // If the history cannot be read, the id counts as used, so the call gets another id.
    return !(await isUsed(id).catch(() => true));
  };
}

/** The tool of a recorded call, as the agents of this process define it; undefined when the agent no longer has a tool of that name. Throws like `placeOf`. */
export async function toolOf(source: ToolSource, call: CallRecord): Promise<BaseTool | undefined> {
  return findTool(await placeIn(await source.history.load(), source, call), call.toolName);
}

/**
 * The session, with the newest state that it shares with others, and the agents with which the tool of a recorded call is found and run. Throws when the
 * agent that made the call is no longer a tool.
 */
export async function placeOf(source: ToolSource, call: CallRecord) {
  return placeIn(await source.history.loadForTools(), source, call);
}

async function placeIn(outer: AdkSession, source: ToolSource, call: CallRecord) {
  const { engine, history } = source;
  const { rootAgent, sessionService, runner, store, plugin } = engine;
  const { agent, invocationId, agents } = call;
  const place = { sessionService, services: runner, agent, invocationId };
  if (!agents?.within) {
    const { pluginManager } = runner;
    return { ...place, rootAgent, pluginManager, session: outer };
  }
  const within = await history.findCall(store, agents.within);
  const inner = within && pausableAgent(await toolOf(source, within));
  if (!inner)
    throw new Error(`The agent that called "${call.toolName}" is no longer a tool of this conversation.`);
  const session = await history.loadInner(inner.name, outer.state);
  // The session of an agent that is used as a tool gets the outcomes of calls inside it only when the agent continues. A tool must see their state
  // changes now, so they are added here.
  const ids = new Set(danglingCalls(session.events).map(({ id }) => id));
  for (const { actions } of (await history.answersWithin(store, agents.within, ids)).values())
    Object.assign(session.state, actions.stateDelta);
  return { ...place, rootAgent: inner, pluginManager: innerPlugins(plugin), session, outer };
}
