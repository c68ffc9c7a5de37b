import type { BaseTool } from '@google/adk';
import {
  type DeferredCall,
  danglingCalls,
  findTool,
  type InnerHost,
  innerPlugins,
  pausableAgent,
} from '../../adk/for-server.ts';
import type { Engine } from '../engine.ts';
import type { CallRecord } from '../store/store.ts';
import type { History } from './history.ts';

/** The engine and the history of a conversation. */
export interface ToolSource {
  engine: Engine;
  history: History;
}

/** What the runs of agents that are used as tools need from a conversation. `defer` records a call. */
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
    pending: new Map(),
  };
}

/** The tool of a recorded call, from the agents of this process; undefined when its agent has no tool of that name any more. */
export async function toolOf(source: ToolSource, call: CallRecord): Promise<BaseTool | undefined> {
  return findTool(await placeOf(source, call), call.toolName);
}

/** The session and the agents among which the tool of a recorded call is found. */
export async function placeOf(source: ToolSource, call: CallRecord) {
  const { engine, history } = source;
  const { rootAgent, sessionService, runner, store, plugin } = engine;
  const { agent, invocationId, agents } = call;
  const outer = await history.loadForTools();
  const place = { sessionService, services: runner, agent, invocationId };
  if (!agents?.within) {
    const { pluginManager } = runner;
    return { ...place, rootAgent, pluginManager, session: outer };
  }
  const within = await history.findCall(store, agents.within);
  const inner = within && pausableAgent(await toolOf(source, within));
  if (!inner) throw new Error(`There is no tool any more whose agent could call "${call.toolName}".`);
  const session = await history.loadInner(inner.name, outer.state);
  // The agent's session gets the outcomes of the calls inside it when the agent continues. Their state changes are shown here before that.
  const ids = new Set(danglingCalls(session.events).map(({ id }) => id));
  for (const { actions } of (await history.answersWithin(store, agents.within, ids)).values())
    Object.assign(session.state, actions.stateDelta);
  return { ...place, rootAgent: inner, pluginManager: innerPlugins(plugin), session, outer };
}
