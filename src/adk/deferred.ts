import {
  type BaseAgent,
  type BaseSessionService,
  type BaseTool,
  Context,
  createEvent,
  type Event,
  type EventActions,
  InvocationContext,
  isLlmAgent,
  type PluginManager,
  ReadonlyContext,
  type Session,
  ToolConfirmation,
} from '@google/adk';
import { takeConfirmationRequest } from './gate.ts';

/** What is needed to run a recorded call: any time later, in any process. */
export interface DeferredExecution {
  rootAgent: BaseAgent;
  sessionService: BaseSessionService;
  pluginManager: PluginManager;
  session: Session;
  agent: string;
  invocationId: string;
  toolName: string;
  callId: string;
  args: Record<string, unknown>;
  /** Whether a person approved the call. */
  approved: boolean;
  signal: AbortSignal;
}

/** How a deferred call ended. `asks`: the tool itself wants a person to confirm first. */
export type Outcome =
  | { kind: 'output'; output: unknown; actions: EventActions }
  | { kind: 'error'; errorText: string }
  | { kind: 'asks' };

/** Runs a recorded call on the server. State that the tool writes is kept apart until its response is stored. */
export async function runDeferred(execution: DeferredExecution): Promise<Outcome> {
  const { callId, args } = execution;
  const agent = execution.rootAgent.findAgent(execution.agent) ?? execution.rootAgent;
  const invocationContext = new InvocationContext({
    invocationId: execution.invocationId,
    agent,
    session: { ...execution.session, state: { ...execution.session.state } },
    sessionService: execution.sessionService,
    pluginManager: execution.pluginManager,
    abortSignal: execution.signal,
  });
  const tool = await findTool(agent, execution.toolName, invocationContext);
  if (!tool) return { kind: 'error', errorText: `There is no tool named "${execution.toolName}" any more.` };
  const context = new Context({
    invocationContext,
    functionCallId: callId,
    ...(execution.approved ? { toolConfirmation: new ToolConfirmation({ confirmed: true }) } : {}),
  });
  try {
    const output = await tool.runAsync({ args, toolContext: context });
    if (takeConfirmationRequest(context, callId)) return { kind: 'asks' };
    return { kind: 'output', output: output ?? null, actions: context.actions };
  } catch (error) {
    return { kind: 'error', errorText: error instanceof Error ? error.message : String(error) };
  }
}

async function findTool(
  agent: BaseAgent,
  name: string,
  context: InvocationContext,
): Promise<BaseTool | undefined> {
  if (!isLlmAgent(agent)) return undefined;
  const tools = await agent.canonicalTools(new ReadonlyContext(context));
  return tools.find((tool) => tool.name === name);
}

/** The function response of a call as ADK keeps it: objects as they are, everything else wrapped as ADK wraps it. */
export function toResponse(output: unknown): Record<string, unknown> {
  if (Array.isArray(output)) return { results: output };
  if (typeof output === 'object' && output !== null) return output as Record<string, unknown>;
  return { result: output };
}

/** The event that answers calls in the history. */
export function responseEvent(
  call: { agent: string; invocationId: string; branch: string | null },
  responses: { id: string; name: string; response: Record<string, unknown> }[],
  actions?: EventActions,
): Event {
  return createEvent({
    invocationId: call.invocationId,
    author: call.agent,
    ...(call.branch === null ? {} : { branch: call.branch }),
    content: { role: 'user', parts: responses.map((functionResponse) => ({ functionResponse })) },
    ...(actions ? { actions } : {}),
  });
}
