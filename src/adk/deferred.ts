import {
  type AuthConfig,
  type AuthCredential,
  type BaseAgent,
  type BaseSessionService,
  type BaseTool,
  type Context,
  createEvent,
  type Event,
  type EventActions,
  InvocationContext,
  isBaseAgent,
  isFunctionTool,
  isLlmAgent,
  type PluginManager,
  ReadonlyContext,
  type Session,
  ToolConfirmation,
} from '@google/adk';
import type { Question } from '../protocol/index.ts';
import { PAUSED, runPausable } from './agent-tool-runs.ts';
import { pausableAgent, runDecided } from './agent-tools.ts';
import { type AgentRoot, findAgent } from './agents.ts';
import { type AnsweredCall, runAfterTool } from './callbacks.ts';
import { takeConfirmationRequest } from './confirmations.ts';
import {
  type CredentialSource,
  credentialsInside,
  LentCredentials,
  takeCredentialRequest,
} from './credentials.ts';
import { pluginIn } from './gate-plugin.ts';
import type { AgentPlace, InnerHost, ServerTools } from './run.ts';
import type { FileChunk } from './saved-files.ts';
import { servicesFor, type ToolServices } from './services.ts';
import { type CallLink, ToolContext } from './tool-context.ts';
import { checkState, DuologueTool, toJsonOutput, toJsonResponse } from './tools.ts';

/** The agent and the session of a stored call, and the services and plugins of the ADK context in which its tool is found and runs. */
export interface DeferredPlace {
  rootAgent: AgentRoot;
  sessionService: BaseSessionService;
  pluginManager: PluginManager;
  services: ToolServices;
  session: Session;
  agent: string;
  invocationId: string;
  /** For a call inside an agent that is used as a tool: the session of the conversation. `session` is then the session of that agent. */
  outer?: Session;
}

/** Everything that a stored call needs to run later, possibly in another process. */
export interface DeferredExecution extends DeferredPlace {
  tool: BaseTool;
  /** Runs the tool within its time limit. */
  tools: ServerTools;
  callId: string;
  args: Record<string, unknown>;
  /** Whether a user approved the call. */
  approved: boolean;
  /** The answer that the user sent to the tool together with the approval, or the sealed answer to a sign-in; null when there is none. */
  answer: unknown;
  /** The source of the credentials that the tool requests. */
  credentials: CredentialSource;
  signal: AbortSignal;
  /** For runs of agents that are used as tools. */
  host: InnerHost;
  /** Set for a call inside an agent that is used as a tool, and for a call whose tool is an agent that can pause. */
  place: AgentPlace | undefined;
  /** Whether the call may have been started before. */
  isContinued: boolean;
}

/**
 * The outcome of a deferred call. `asks`: the tool itself asks the user to confirm or to sign in, and runs again after that. `waits`: a long-running tool
 * was started, and its output comes from outside; or the tool is an agent, and calls inside it wait. `actions` are the changes that the tool made, `session`
 * is the session of the conversation as it was when the tool started: with it the store finds conflicting changes of the state. The server adds `files`, the
 * files that the tool saved.
 */
export type Outcome =
  | { kind: 'output'; output: unknown; actions: EventActions; session: Session; files?: FileChunk[] }
  | { kind: 'error'; errorText: string; actions?: EventActions; files?: FileChunk[] }
  | { kind: 'asks'; question: Question }
  | { kind: 'waits' };

/**
 * Runs a stored call on the server. State changes of the tool are not applied to the session until its response is stored. ADK called the before-tool
 * callbacks when the model made the call; the after-tool callbacks are called here.
 */
export async function runDeferred(execution: DeferredExecution): Promise<Outcome> {
  const { tool, tools, callId, args, session, signal } = execution;
  const agent = agentOf(execution);
  if (tool instanceof DuologueTool && tool.runsOn === 'client') return { kind: 'waits' };
  const override = pluginIn(execution)?.override;
  const isWaived = override !== undefined && !override.includes(tool.name);
  let link: CallLink | undefined;
  let actions: EventActions | undefined;
  try {
    link = await tools.link(callId, tool);
    return await tools.run(tool, signal, async (abortSignal): Promise<Outcome> => {
      const before = execution.credentials.before(execution.answer);
      const isConfirmed = (before?.isApproved ?? execution.approved) || isWaived;
      // An `answer` without an approval is a sealed answer to a sign-in that this server can no longer open, because its secret has changed. The tool does not
      // get it.
      const isUnreadable = !before && !execution.approved && execution.answer !== null;
      const answer = before ? before.answer : isUnreadable ? null : execution.answer;
      const answering = { ...execution, answer };
      const start = (session: Session) => {
        const context = toolContextOf({ ...answering, session }, abortSignal, isConfirmed, link);
        actions = context.actions;
        const call = { tool, agent, args, context };
        return { context, call, ended: tools.start(abortSignal, () => callTool(call, execution)) };
      };
      let { context, call, ended } = start(session);
      let output = await ended;
      if (output === PAUSED) return { kind: 'waits' };
      const lent = new LentCredentials();
      for (;;) {
        const config = takeCredentialRequest(context, callId);
        if (!config) break;
        const credential = lent.has(config) ? undefined : await credentialFor(execution, config, context);
        if (!credential) {
          if (before) throw new Error(needsAnotherSignIn(tool.name, config, lent));
          if (isUnreadable) throw new Error(lostSignIn(tool.name));
          const isApproved = isConfirmed && !isWaived;
          const { outer = session, credentials } = execution;
          return { kind: 'asks', question: credentials.question(config, outer, callId, isApproved) };
        }
        lent.add(config, credential);
        ({ context, call, ended } = start(lent.copyInto(session)));
        output = await ended;
      }
      const question = takeConfirmationRequest(context, callId);
      if (question) return { kind: 'asks', question };
      if (tool.isLongRunning && output == null) return { kind: 'waits' };
      return await answered(call, output, execution.outer ?? session);
    });
  } catch (error) {
    // The files that the tool saved before it failed are stored already, so the outcome names them (in `actions`).
    return actions ? { ...failure(error), actions } : failure(error);
  } finally {
    link?.close();
  }
}

/**
 * The error text for a tool that requests a credential although the user has already signed in for its call. A call can ask for one sign-in only, but the
 * model can call the tool again, and the new call can ask for another. A credential that the tool has got so far is saved, so the new call need not ask for
 * it again.
 */
function needsAnotherSignIn(tool: string, config: AuthConfig, lent: LentCredentials): string {
  if (lent.has(config)) return `The sign-in did not help: ${tool} asked for the same credential again.`;
  return lent.isEmpty
    ? `${tool} asks for another credential than the one that the user signed in for. Call ${tool} again to ask for it.`
    : `${tool} needs one more sign-in, and a call can ask for one only. The credential so far is saved: call ${tool} again to ask for the next.`;
}

/** The error text for a tool whose user has signed in, when the stored answer cannot be decrypted. A call asks once only, so it cannot ask again. */
function lostSignIn(tool: string): string {
  return `The sign-in for ${tool} is lost: the key of the server (toolSignIn.secret) has changed since the user signed in. Call ${tool} again to ask for a new sign-in.`;
}

/** The credential that a tool requests: from the user's answer to a sign-in, otherwise from an earlier sign-in. */
async function credentialFor(
  { credentials, answer }: DeferredExecution,
  config: AuthConfig,
  context: Context,
): Promise<AuthCredential | undefined> {
  return (await credentials.exchange(config, answer, context)) ?? credentials.saved(config, context);
}

/**
 * Completes a stored call whose output came from outside, such as from the browser: checks the output, and calls the after-tool callbacks with it.
 */
export async function answerDeferred(execution: DeferredExecution, output: unknown): Promise<Outcome> {
  const { tool, tools, args, session, outer = session, signal } = execution;
  const agent = agentOf(execution);
  try {
    return await tools.run(tool, signal, async (abortSignal): Promise<Outcome> => {
      const context = toolContextOf(execution, abortSignal, execution.approved);
      const valid = tool instanceof DuologueTool ? tool.checkOutput(output) : output;
      return await answered({ tool, agent, args, context }, valid, outer);
    });
  } catch (error) {
    return failure(error);
  }
}

/** The outcome of a call that has an output. After-tool callbacks may replace the output. */
async function answered(call: AnsweredCall, output: unknown, session: Session): Promise<Outcome> {
  const { tool, context } = call;
  const response = toJsonResponse(tool.name, await runAfterTool(call, output));
  checkState(tool.name, context.actions.stateDelta);
  return { kind: 'output', output: response ?? null, actions: context.actions, session };
}

function toolContextOf(
  execution: DeferredExecution,
  abortSignal: AbortSignal,
  isConfirmed: boolean,
  link?: CallLink,
): Context {
  const { callId, answer } = execution;
  const payload = answer === null ? {} : { payload: answer };
  return new ToolContext(
    {
      invocationContext: contextOf(execution, abortSignal),
      functionCallId: callId,
      ...(isConfirmed ? { toolConfirmation: new ToolConfirmation({ confirmed: true, ...payload }) } : {}),
    },
    link,
  );
}

function failure(error: unknown): Extract<Outcome, { kind: 'error' }> {
  return { kind: 'error', errorText: error instanceof Error ? error.message : String(error) };
}

/** Runs a tool. When the tool throws, a plugin may give a response instead. */
async function callTool(
  { tool, args, context: toolContext }: AnsweredCall,
  { host, place, isContinued, tools, credentials: source, session, outer = session }: DeferredExecution,
): Promise<unknown> {
  try {
    const override = pluginIn(toolContext.invocationContext)?.override;
    const agent = place?.isAgent ? pausableAgent(tool) : null;
    const credentials = credentialsInside(source, outer);
    const output = await (place && agent
      ? runPausable({
          ...{ agent, args, host, path: place.path, isContinued, override, tools, credentials },
          context: toolContext,
          isRecorded: true,
        })
      : runDecided(execution(tool, toolContext), { args, toolContext }, override, host));
    if (output === PAUSED) return output;
    checkState(tool.name, toolContext.actions.stateDelta);
    return toJsonOutput(tool.name, output);
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    const { pluginManager } = toolContext.invocationContext;
    const call = { tool, toolArgs: args, toolContext };
    const output = await pluginManager.runOnToolErrorCallback({ ...call, error });
    if (output == null) throw error;
    return output;
  }
}

/**
 * Returns the tool to run. For a confirmed ADK tool, the `requireConfirmation` predicate is replaced by `true`: if the predicate were called again
 * and threw, the approved call would fail.
 */
function execution(tool: BaseTool, context: Context): BaseTool {
  if (!isFunctionTool(tool) || tool instanceof DuologueTool || !context.toolConfirmation?.confirmed)
    return tool;
  return Object.create(tool, { requireConfirmation: { value: true } }) as BaseTool;
}

/** The tool of a stored call; undefined when the agent no longer has a tool of that name. */
export async function findTool(place: DeferredPlace, name: string): Promise<BaseTool | undefined> {
  const agent = agentOf(place);
  if (!isLlmAgent(agent)) return undefined;
  const tools = await agent.canonicalTools(new ReadonlyContext(contextOf(place)));
  return tools.find((tool) => tool.name === name);
}

/** The agent that made a stored call. If no agent has that name now, it is the root agent; this throws if the root is a workflow. */
function agentOf({ rootAgent, agent }: DeferredPlace): BaseAgent {
  const found = findAgent(rootAgent, agent);
  if (found) return found;
  if (isBaseAgent(rootAgent)) return rootAgent;
  throw new Error(
    `The workflow "${rootAgent.name}" no longer has the agent "${agent}", which made this call.`,
  );
}

function contextOf(place: DeferredPlace, abortSignal?: AbortSignal): InvocationContext {
  const { invocationId, session, outer = session, sessionService, pluginManager, services } = place;
  return new InvocationContext({
    invocationId,
    agent: agentOf(place),
    session: { ...session, state: { ...session.state } },
    sessionService,
    pluginManager,
    ...servicesFor(services, outer),
    ...(abortSignal ? { abortSignal } : {}),
  });
}

/** The function response of a call in ADK's form: an object stays as it is, and any other output is wrapped as ADK wraps it. */
export function toResponse(output: unknown): Record<string, unknown> {
  if (Array.isArray(output)) return { results: output };
  if (typeof output === 'object' && output !== null) return output as Record<string, unknown>;
  return { result: output };
}

/** Creates the event that adds the responses of calls to the history. */
export function responseEvent(
  call: { agent: string; invocationId: string; branch: string | null },
  responses: { id: string; name: string; response: Record<string, unknown> }[],
  actions?: EventActions,
  customMetadata?: Record<string, unknown>,
): Event {
  return createEvent({
    invocationId: call.invocationId,
    author: call.agent,
    ...(call.branch === null ? {} : { branch: call.branch }),
    content: { role: 'user', parts: responses.map((functionResponse) => ({ functionResponse })) },
    ...(actions ? { actions } : {}),
    ...(customMetadata ? { customMetadata } : {}),
  });
}
