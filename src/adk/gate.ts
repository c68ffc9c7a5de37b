import {
  BaseLlmRequestProcessor,
  BaseTool,
  CONTENT_REQUEST_PROCESSOR,
  type Context,
  createEvent,
  createEventActions,
  type Event,
  type EventActions,
  type InvocationContext,
  isLlmAgent,
  type LlmRequest,
  NodeTool,
  ToolConfirmation,
} from '@google/adk';
import type { ToolFacts } from '../protocol/index.ts';
import { PAUSED, runPausable } from './agent-tool-runs.ts';
import {
  type InnerRun,
  innerRunOf,
  noteInnerRun,
  pausableAgent,
  refuseInside,
  runDecided,
} from './agent-tools.ts';
import { allAgentsIn, cannotWait, workflowAround } from './agent-tree.ts';
import { type AgentRoot, converses } from './agents.ts';
import { GATED, guardAgentCallbacks, markRun } from './callbacks.ts';
import { guardAgentConfirmations, requestedBefore, takeConfirmationRequest } from './confirmations.ts';
import { credentialsInside, LentCredentials, NO_CREDENTIALS, takeCredentialRequest } from './credentials.ts';
import { type ActiveRun, pluginIn } from './gate-plugin.ts';
import { HistoryProcessor } from './history.ts';
import { guardNodes, nodeToolRefusal } from './node-tools.ts';
import { addClaim, addFastPath } from './request-hooks.ts';
import { approvalMessageOf, approvalTimeoutOf, decide, mayWait, unlessAborted } from './run.ts';
import { checkState, DuologueTool, rememberDeclaration, toJsonOutput } from './tools.ts';

/**
 * Puts gates before the tools of every LLM agent of a tree, and of every agent that runs inside a tool there. Instrumenting a tree again changes nothing.
 * An agent that is used as a tool is prepared like any other, because its sessions are in the same store, and because it may also be a sub-agent.
 */
export function instrument(root: AgentRoot): void {
  for (const agent of allAgentsIn(root)) {
    // Otherwise ADK takes the empty message of a run that continues for the output of a node whose call was answered.
    if (converses(agent)) Object.assign(agent, { rerunOnResume: true });
    if (!isLlmAgent(agent)) continue;
    guardAgentCallbacks(agent);
    guardAgentConfirmations(agent);
    const { requestProcessors } = agent;
    if (requestProcessors.some((processor) => processor instanceof GateBuilder)) continue;
    agent.requestProcessors = [
      ...requestProcessors.map((processor) =>
        processor === CONTENT_REQUEST_PROCESSOR ? new HistoryProcessor() : processor,
      ),
      new GateBuilder(),
    ];
  }
}

const GATE_TOOL = 'duologue_gate';

/**
 * A request processor that runs last, before ADK puts the agent's own tools into the request. It adds the `Gate` tool after the tools of an agent,
 * even after tools that were added later. An agent without tools gets no `Gate` tool, because with any tool ADK would no longer ask the model for
 * structured output.
 */
export class GateBuilder extends BaseLlmRequestProcessor {
  override async *runAsync(
    context: InvocationContext,
    request: LlmRequest,
  ): AsyncGenerator<Event, void, void> {
    const { agent } = context;
    if (!isLlmAgent(agent)) return;
    if (agent.tools.length === 0) putGates(request, context, agent.name);
    else if (!(agent.tools.at(-1) instanceof Gate)) {
      for (const tool of agent.tools) rememberDeclaration(tool);
      agent.tools = [...agent.tools.filter((tool) => !(tool instanceof Gate)), new Gate()];
    }
    // A plugin that restricts the tools of a request does not know the `Gate` tool and would leave it out. Then the allowed tools would run without
    // asking for approval.
    request.allowedTools?.push(GATE_TOOL);
  }
}

/**
 * The last tool of an agent. It has no declaration, so models do not see it. ADK calls its `processLlmRequest` after all other tools are in the request;
 * this method then puts a gate before each of them.
 */
export class Gate extends BaseTool {
  constructor() {
    super({ name: GATE_TOOL, description: 'Puts a gate before every tool.' });
  }

  override runAsync(): Promise<unknown> {
    throw new Error('The tool duologue_gate is internal to Duologue and cannot be called.');
  }

  override async processLlmRequest(request: { toolContext: Context; llmRequest: LlmRequest }): Promise<void> {
    const { invocationContext, agentName } = request.toolContext;
    putGates(request.llmRequest, invocationContext, agentName);
  }
}

/** Puts a gate before every tool that is in a request, if the request belongs to a run of the server. */
function putGates(request: LlmRequest, context: InvocationContext, agentName: string): void {
  const active = pluginIn(context)?.activeIn(context);
  if (!active && !innerRunOf(context)) return;
  if (active) addFastPath(request, context, active.run);
  if (active?.run.inner) addClaim(request, active.run.inner.claimCallId);
  const { toolsDict } = request;
  const tools = new Map<string, BaseTool>();
  for (const [name, tool] of Object.entries(toolsDict)) {
    const gated = tool instanceof Gated ? tool : new Gated(tool);
    toolsDict[name] = gated;
    tools.set(name, gated.inner);
  }
  active?.tools.set(agentName, tools);
}

/** Tools of ADK itself. They run inside ADK's loop even in a live run, because ADK reads their effect from the response that its loop makes. */
const FRAMEWORK = new Set([
  'transfer_to_agent',
  'finish_task',
  'task_completed',
  'set_model_response',
  'exit_loop',
]);

interface ToolRequest {
  args: Record<string, unknown>;
  toolContext: Context;
}

/** A tool with its gate. A call either runs inside ADK's loop, or is deferred: then it returns to ADK without a response, and the server answers it later. */
class Gated extends BaseTool {
  readonly [GATED] = true;
  readonly inner: BaseTool;
  /** Whether a call of this tool may wait for a user or a browser. A live model that supports non-blocking calls continues to speak meanwhile. */
  readonly nonBlocking: boolean;
  /** Whether the tool has no side effects. A model that forgets such a call when the user speaks can safely make it again. */
  readonly changesNothing: boolean;

  constructor(inner: BaseTool) {
    super({ name: inner.name, description: inner.description });
    this.inner = inner;
    this.nonBlocking = mayWait(inner);
    this.changesNothing = inner instanceof DuologueTool && inner.isConcurrent;
  }

  override _getDeclaration() {
    return this.inner._getDeclaration();
  }

  override async runAsync(request: ToolRequest): Promise<unknown> {
    const { args, toolContext } = request;
    const { invocationContext, functionCallId: id } = toolContext;
    const plugin = pluginIn(invocationContext);
    const active = plugin?.activeIn(invocationContext);
    if (!plugin || !id) {
      const run = innerRunOf(invocationContext);
      const output = await (run ? this.runInside(run, request) : this.inner.runAsync(request));
      markRun(toolContext, 'returned');
      return output;
    }
    // The run has ended, so no approval request could be sent.
    if (!active) throw new Error(`${this.name} was not called: the run of the agent has ended.`);

    const requested = requestedBefore(toolContext);
    if (requested) this.checkMayAsk();
    const changed = changesIn(toolContext);
    const path = [...(active.run.path ?? []), toolContext.agentName];
    const isAgent = this.pausableIn(active, toolContext) !== null;
    const decision =
      active.decisionOn(id, args) ??
      active.decided(id, args, await plugin.decide(this.inner, args, toolContext));
    const later = async (facts: ToolFacts, isLongRunning = false) => {
      checkMayWait(this.name, facts, toolContext);
      if (changed) await keepChanges(changed, toolContext);
      await active.run.defer({
        id,
        toolName: this.name,
        args,
        runsOn: facts.runsOn,
        asks: facts.asks,
        ...(facts.question ? { question: facts.question } : {}),
        agent: toolContext.agentName,
        invocationId: toolContext.invocationId,
        branch: invocationContext.branch,
        approvalTimeoutMs: approvalTimeoutOf(this.inner),
        approvalMessage: facts.asks
          ? (decision.approvalMessage ?? approvalMessageOf(this.inner, args) ?? requested?.message)
          : undefined,
        ...(isLongRunning && { isLongRunning }),
        ...(isAgent && { agents: { within: null, path, isAgent } }),
      });
      return this.answerLater(true);
    };

    this.answerLater(false);
    if (decision.refusal) throw new Error(decision.refusal);
    if (decision.asks || decision.question) return later(decision);
    if (requested && decision.runsOn === 'client') {
      const { optimistic: _, ...facts } = decision;
      return later(active.decided(id, args, { ...facts, asks: true }));
    }
    if (requested) return later({ runsOn: 'server', asks: true, question: requested });
    // In a live run ADK reads no model output while it runs a tool. So the tool does not run inside ADK's loop: the call is deferred.
    if (active.run.live && !FRAMEWORK.has(this.name)) return later(decision);
    const { inner } = this;
    if (decision.runsOn === 'client' && inner instanceof DuologueTool) {
      if (!decision.optimistic) return later(decision);
      const output = inner.optimistic(decision.args);
      markRun(toolContext, 'returned');
      return active.keep(id, output);
    }
    if (decision.waived) toolContext.toolConfirmation = new ToolConfirmation({ confirmed: true });
    const run = () =>
      this.runHere(active, request).catch((error: unknown) => {
        markRun(toolContext, 'threw');
        throw error;
      });
    let output = await run();
    // This tool is an agent, and calls inside it wait. Record the call of this tool first, and the calls inside it after that.
    if (output === PAUSED) return later({ runsOn: 'server', asks: false });
    const lent = new LentCredentials();
    for (;;) {
      const config = takeCredentialRequest(toolContext, id);
      if (!config) break;
      const { session } = invocationContext;
      const credential = lent.has(config) ? undefined : await plugin.credentials.saved(config, toolContext);
      if (!credential) {
        const question = plugin.credentials.question(config, session, id, false);
        return later({ runsOn: decision.runsOn, asks: true, question });
      }
      lent.add(config, credential);
      output = await lent.lendTo(session, run);
    }
    const question = takeConfirmationRequest(toolContext, id);
    if (question) return later({ runsOn: decision.runsOn, asks: true, question });
    // A long-running tool returned nothing: its output comes later, from outside the conversation.
    if (inner.isLongRunning && output == null) return later({ runsOn: 'client', asks: false }, true);
    markRun(toolContext, 'returned');
    return active.keep(id, output);
  }

  /** The agent that this tool runs, if a run of the agent can pause here; otherwise null. */
  private pausableIn(active: ActiveRun, context: Context) {
    const canWait = active.run.inner !== undefined && whyNotWait(this.name, false, context) === null;
    return canWait ? pausableAgent(this.inner) : null;
  }

  /** Throws when this tool cannot run after an approval, because it works only inside ADK's loop. */
  private checkMayAsk(): void {
    if (!FRAMEWORK.has(this.name) && !(this.inner instanceof NodeTool)) return;
    throw new Error(
      `A callback requests a confirmation for ${this.name}, which runs inside the loop of ADK and cannot wait for a user. Leave this tool out in that callback.`,
    );
  }

  /** Runs a tool inside an agent that is used as a tool and cannot pause. A call that would have to wait is refused. */
  private async runInside(run: InnerRun, request: ToolRequest): Promise<unknown> {
    const { inner } = this;
    const { args, toolContext } = request;
    const nodeRefusal = nodeToolRefusal(inner);
    if (nodeRefusal !== null) throw new Error(nodeRefusal);
    const { asks, runsOn, waived, refusal } = await decide(inner, args, toolContext, run.override);
    if (refusal) throw new Error(refusal);
    const requested = requestedBefore(toolContext) !== undefined;
    if (asks || requested || runsOn === 'client')
      refuseInside(run, this.name, asks || requested, toolContext);
    if (waived) toolContext.toolConfirmation = new ToolConfirmation({ confirmed: true });
    noteInnerRun(run, toolContext.invocationContext);
    guardNodes(toolContext.invocationContext, run.override);
    const output = await runDecided(inner, request, run.override);
    const callId = toolContext.functionCallId ?? '';
    if (takeCredentialRequest(toolContext, callId)) refuseInside(run, this.name, false, toolContext);
    if (takeConfirmationRequest(toolContext, callId)) refuseInside(run, this.name, true, toolContext);
    if (inner.isLongRunning && output == null) refuseInside(run, this.name, false, toolContext);
    return output;
  }

  /** Runs the tool inside ADK's loop. ADK's own tools only control the loop, so they need no tool lock. */
  private async runHere(active: ActiveRun, request: ToolRequest): Promise<unknown> {
    const { inner } = this;
    const { args, toolContext } = request;
    const { invocationContext } = toolContext;
    const { override, credentials: source = NO_CREDENTIALS } = pluginIn(invocationContext) ?? {};
    if (FRAMEWORK.has(this.name)) return runDecided(inner, request, override);
    const { inner: host, tools, path = [] } = active.run;
    const agent = this.pausableIn(active, toolContext);
    const credentials = credentialsInside(source, invocationContext.session);
    const output = await unlessAborted(
      tools.runInLoop(inner, toolContext, async (context) => {
        const returned = await (agent && host
          ? runPausable({
              ...{ agent, args, context, host, override, tools, credentials },
              path: [...path, context.agentName],
              isRecorded: false,
              isContinued: false,
            })
          : runDecided(inner, { args, toolContext: context }, override, host));
        if (returned === PAUSED) return returned;
        checkState(this.name, context.actions.stateDelta);
        return toJsonOutput(this.name, returned);
      }),
      toolContext.abortSignal,
      () => {
        throw new Error('The call was aborted.');
      },
    );
    if (Object.keys(toolContext.actions.stateDelta).length > 0) active.wrote(toolContext.functionCallId);
    return output;
  }

  /**
   * Marks this tool as long-running or not. ADK reads the mark right after the tool returns, one call at a time, and leaves the call of a
   * long-running tool open when it has no output.
   */
  private answerLater(later: boolean): undefined {
    (this as { isLongRunning: boolean }).isLongRunning = later;
    return undefined;
  }
}

/** The state and artifact changes that before-tool callbacks made for a call; undefined when there are none. */
function changesIn({ actions }: Context): Pick<EventActions, 'stateDelta' | 'artifactDelta'> | undefined {
  const { stateDelta, artifactDelta } = actions;
  const isChanged = Object.keys(stateDelta).length + Object.keys(artifactDelta).length > 0;
  return isChanged ? { stateDelta: { ...stateDelta }, artifactDelta: { ...artifactDelta } } : undefined;
}

/**
 * Stores the state and artifact changes of the before-tool callbacks of a deferred call. ADK would store them with the response, but a deferred call
 * has none yet.
 */
async function keepChanges(
  changes: Pick<EventActions, 'stateDelta' | 'artifactDelta'>,
  { invocationContext, invocationId, agentName: author }: Context,
): Promise<void> {
  const { sessionService, session, branch } = invocationContext;
  const event = createEvent({
    invocationId,
    author,
    ...(branch === undefined ? {} : { branch }),
    actions: createEventActions(changes),
  });
  await sessionService?.appendEvent({ session, event });
}

/** Throws for a call that could not be resumed after an answer, so that the user is not asked in vain. */
function checkMayWait(tool: string, { asks }: ToolFacts, context: Context): void {
  const why = whyNotWait(tool, asks, context);
  if (why !== null) throw new Error(why);
}

/** Why a call could not be resumed after an answer; null when it could. */
function whyNotWait(tool: string, asks: boolean, { invocationContext }: Context): string | null {
  const { agent, liveRequestQueue, nodeToolDepth } = invocationContext;
  const workflow = agent && !liveRequestQueue ? workflowAround(agent) : null;
  if (workflow) return cannotWait(tool, asks, workflow);
  const whom = asks ? 'an approval' : 'an answer from outside';
  if (nodeToolDepth > 0)
    return `${tool} waits for ${whom}, but no call can wait inside a workflow that is used as a tool.`;
  if (agent && pluginIn(invocationContext)?.agents.has(agent.name) === false)
    return `${tool} waits for ${whom}, which the agent "${agent.name}" cannot get: the workflow created the agent while it ran, so no later process could find it.`;
  return null;
}
