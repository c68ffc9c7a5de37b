import {
  type BaseAgent,
  type BaseNode,
  BasePlugin,
  type BaseTool,
  Context,
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  type InvocationContext,
  isBaseAgent,
  type NodeContext,
  type PluginManager,
} from '@google/adk';
import type { Content } from '@google/genai';
import { ARGUMENTS_UNREADABLE, type Chunk, stateConflict, type ToolFacts } from '../protocol/index.ts';
import { converses } from './agents.ts';
import { hasBeforeToolCallbacks } from './callbacks.ts';
import { type CredentialSource, NO_CREDENTIALS } from './credentials.ts';
import { isUnreadable } from './history.ts';
import { askedByNode, nodeQuestions } from './node-questions.ts';
import { checkRunningNode, nodeToolRefusal } from './node-tools.ts';
import {
  type ApprovalOverride,
  type Decision,
  type DeferredCall,
  decide,
  mayWait,
  type Run,
  refuse,
} from './run.ts';
import { DuologueTool, toJsonResponse } from './tools.ts';
import {
  checkRequestInput,
  giveAnswers,
  markEnd,
  markFinished,
  noteEmitted,
  pauseAsNode,
  prepareWorkflow,
} from './workflow-runs.ts';

/** Identifies the session a run belongs to. */
export interface RunKey {
  appName: string;
  userId: string;
  id: string;
}

/** What a run knows about its calls, for the reader of its events. */
export interface RunView {
  factsOf(callId: string): ToolFacts;
  /**
   * Whether a call may wait, and before-tool callbacks may still change its arguments. Clients get such a call only when it waits or has an outcome, so that
   * a user who is asked sees the arguments with which the tool will run.
   */
  mayChange(callId: string): boolean;
  /** Resolves when ADK has read the session: later events are not in the history of this run. */
  readonly begun: Promise<void>;
  /** The questions that workflow nodes ask the user in an event, as calls that wait for an answer. */
  questionsIn(event: Event): DeferredCall[];
  /** The chunk for the response of a call that ADK's own loop answered. */
  outputChunk(callId: string, response: Record<string, unknown>): Chunk;
}

/** A run in progress, with the tools that its agents have in this step and the decision about each call. */
export class ActiveRun implements RunView {
  readonly run: Run;
  /** The tools of each agent, without their gates: by the name of the agent, then by the name of the tool. */
  readonly tools = new Map<string, ReadonlyMap<string, BaseTool>>();
  readonly decisions = new Map<string, Decision>();
  /** The arguments on which the decision about each call is based, as JSON. */
  private readonly decidedOn = new Map<string, string>();
  /** Calls whose tool failed. They are recorded because the response of a failure may look like an output. */
  readonly failures = new Set<string>();
  readonly begun: Promise<void>;
  /** Calls that may wait, and whose arguments before-tool callbacks may change after the event with the call. */
  readonly changeable = new Set<string>();
  private readonly outputs = new Map<string, unknown>();
  private readonly writers = new Set<string>();
  /** The questions that workflow nodes ask the user, by call id. */
  private readonly asked = new Map<string, DeferredCall>();
  markBegun: () => void = () => undefined;
  /** The events that are being stored, by their ids. */
  private readonly storing = new Map<string, { done: Promise<void>; resolve: () => void }>();

  constructor(run: Run) {
    this.run = run;
    this.begun = new Promise((resolve) => {
      this.markBegun = resolve;
    });
  }

  /** Resolves when an event of the run is stored, or could not be. */
  whenStored(eventId: string): Promise<void> {
    const known = this.storing.get(eventId);
    if (known) return known.done;
    let resolve = (): void => undefined;
    const done = new Promise<void>((settle) => {
      resolve = settle;
    });
    this.storing.set(eventId, { done, resolve });
    return done;
  }

  /** Resolves when all events that the nodes of a workflow have emitted so far are stored, or could not be. */
  async whenAllStored(): Promise<void> {
    await Promise.all([...this.storing.values()].map(({ done }) => done));
  }

  /** Resolves the promises of `whenStored`: an event of the run is stored, or could not be stored. */
  stored(eventId: string): void {
    this.storing.get(eventId)?.resolve();
    this.storing.delete(eventId);
  }

  /** Remembers the decision about a call, and the arguments on which it is based. */
  decided(callId: string, args: Record<string, unknown>, decision: Decision): Decision {
    this.decisions.set(callId, decision);
    this.decidedOn.set(callId, JSON.stringify(args));
    return decision;
  }

  /**
   * The decision about a call with these arguments; undefined when there is none, or when a callback has changed the arguments since. A call with
   * unreadable arguments stays refused: a callback cannot restore arguments that were lost.
   */
  decisionOn(callId: string, args: Record<string, unknown>): Decision | undefined {
    const decision = this.decisions.get(callId);
    const isFinal = decision?.refusal === ARGUMENTS_UNREADABLE;
    return isFinal || this.decidedOn.get(callId) === JSON.stringify(args) ? decision : undefined;
  }

  /** Keeps the output of a tool as the tool returned it; ADK may wrap it in a response. */
  keep(callId: string, output: unknown): unknown {
    this.outputs.set(callId, output);
    return output;
  }

  /** Remembers that a call changed state. */
  wrote(callId: string | undefined): void {
    if (callId !== undefined) this.writers.add(callId);
  }

  /** Returns the calls that changed state; all given calls when none of them is known to have changed state. */
  writersOf(callIds: readonly string[]): readonly string[] {
    const known = callIds.filter((id) => this.writers.has(id));
    return known.length > 0 ? known : callIds;
  }

  factsOf(callId: string): ToolFacts {
    const asked = this.asked.get(callId);
    if (asked) return { runsOn: asked.runsOn, asks: asked.asks, ...withQuestion(asked) };
    const decision = this.decisions.get(callId);
    const { runsOn = 'server', asks = false, optimistic } = decision ?? {};
    return { runsOn, asks, ...(optimistic ? { optimistic } : {}), ...withQuestion(decision) };
  }

  /** Remembers the questions that nodes of a workflow ask the user in an event. */
  noteQuestions(event: Event): void {
    for (const call of nodeQuestions(event)) this.asked.set(call.id, call);
  }

  questionsIn(event: Event): DeferredCall[] {
    if (this.asked.size === 0) return [];
    return nodeQuestions(event);
  }

  mayChange(callId: string): boolean {
    return this.changeable.has(callId);
  }

  outputChunk(toolCallId: string, response: Record<string, unknown>): Chunk {
    if (this.failures.has(toolCallId) && typeof response.error === 'string') {
      return { type: 'tool-output-error', toolCallId, errorText: response.error };
    }
    const output = this.outputs.get(toolCallId);
    const isWrapped = this.outputs.has(toolCallId) && isWrapping(response, output);
    return { type: 'tool-output-available', toolCallId, output: isWrapped ? output : response };
  }
}

function withQuestion(facts: Pick<ToolFacts, 'question'> | undefined): Pick<ToolFacts, 'question'> {
  return facts?.question ? { question: facts.question } : {};
}

const GATE = 'duologue';

const NOTHING: Promise<undefined> = Promise.resolve(undefined);

/** The functions by which the plugin checks, prepares and finds the agents of the server. */
export interface GatedAgents {
  /** Prepares an agent before it runs as a node, because a workflow may have made it just now, so that its calls pass the gates. */
  prepare(agent: BaseAgent): void;
  /**
   * Prepares an agent before it runs as a tool, because a toolset may have made it just now. Throws an error with a clear text when the agent cannot be
   * used as a tool.
   */
  prepareTool(agent: BaseAgent): void;
  /** The name of the root agent or workflow. */
  readonly rootName: string;
  /** Whether the server finds an agent with this name when a call is answered, in another process as well. */
  has(agentName: string): boolean;
}

const ALL_KNOWN: GatedAgents = {
  prepare: () => undefined,
  prepareTool: () => undefined,
  rootName: '',
  has: () => true,
};

interface EventParams {
  invocationContext: InvocationContext;
  event: Event;
}

/** Connects ADK's callbacks and tools to the run of a session. Tools find the plugin through their context, so no global variable is needed. */
export class GatePlugin extends BasePlugin {
  private readonly active = new Map<string, ActiveRun>();
  readonly override: ApprovalOverride;
  readonly agents: GatedAgents;
  /** The source of the credentials that tools request. */
  readonly credentials: CredentialSource;

  constructor(
    override?: ApprovalOverride,
    agents: GatedAgents = ALL_KNOWN,
    credentials: CredentialSource = NO_CREDENTIALS,
  ) {
    super(GATE);
    this.override = override;
    this.agents = agents;
    this.credentials = credentials;
  }

  /**
   * The `GatedAgents` for the separate plugin of an agent that is used as a tool, which ADK runs with its own runner. They differ from `agents`: `has` is
   * true for every name, and `prepare` does nothing, because no workflow creates an agent in such a run. `prepareTool` is that of `agents`.
   */
  get agentsInside(): GatedAgents {
    return { ...ALL_KNOWN, prepareTool: (agent) => this.agents.prepareTool(agent) };
  }

  begin(key: RunKey, run: Run): RunView {
    const active = new ActiveRun(run);
    this.active.set(keyOf(key), active);
    return active;
  }

  /** Removes a run that has ended. A later run of the same session stays active. */
  end(view: RunView): void {
    for (const [key, active] of this.active) {
      if (active === view) this.active.delete(key);
    }
  }

  activeIn(context: InvocationContext): ActiveRun | undefined {
    return this.active.get(keyOf(context.session));
  }

  override async beforeRunCallback({
    invocationContext,
  }: {
    invocationContext: InvocationContext;
  }): Promise<Content | undefined> {
    // ADK sets no `agent` in the context when the root is a workflow.
    const active = this.activeIn(invocationContext);
    const unanswered = invocationContext.agent
      ? null
      : prepareWorkflow(invocationContext, active?.run.continues);
    active?.markBegun();
    return unanswered === null ? undefined : { role: 'model', parts: [{ text: unanswered }] };
  }

  override async beforeNodeCallback({
    node,
    nodeContext,
  }: {
    node: BaseNode;
    nodeContext: NodeContext;
  }): Promise<undefined> {
    checkRunningNode(node, nodeContext, this.override);
    const active = this.activeIn(nodeContext.invocationContext);
    if (active) noteEmitted(nodeContext, active);
    giveAnswers(nodeContext);
    if (!isBaseAgent(node)) return;
    this.agents.prepare(node);
    if (converses(node)) pauseAsNode(node, (context) => this.activeIn(context));
  }

  override async afterNodeCallback(params: {
    node: BaseNode;
    nodeContext: NodeContext;
    output: unknown;
  }): Promise<undefined> {
    const { node, nodeContext, output } = params;
    if (nodeContext.nodePath === this.agents.rootName) markEnd(node, nodeContext);
    else markFinished(node, nodeContext, output);
  }

  /** Records that an event of ADK's own loop is stored, or could not be stored. */
  stored(key: RunKey, { id }: Event): void {
    this.active.get(keyOf(key))?.stored(id);
  }

  /** ADK calls this for every token, so it allocates nothing. */
  override afterModelCallback(): Promise<undefined> {
    return NOTHING;
  }

  override onEventCallback(params: EventParams): Promise<Event | undefined> {
    return params.event.partial ? NOTHING : this.decideOn(params);
  }

  /**
   * Handles an event as soon as ADK emits it, unless it is partial. Decides about each call in it, so that clients hear at once where the call runs and
   * whether it needs approval. Returns an event to use in its place: one that contains the transcript of speech, or one in which a workflow node asks
   * the user. Otherwise undefined.
   */
  private async decideOn({ event, invocationContext }: EventParams): Promise<Event | undefined> {
    const spoken = spokenContent(event);
    if (spoken) return { ...event, content: spoken };
    if (!event.content) return undefined;
    const asked = askedByNode(event);
    if (asked) {
      checkRequestInput(asked, this.agents.rootName);
      this.activeIn(invocationContext)?.noteQuestions(asked);
      return asked;
    }
    this.checkResponses(event, invocationContext);
    if (getFunctionCalls(event).length === 0) return undefined;
    const active = this.activeIn(invocationContext);
    const tools = active?.tools.get(event.author ?? '');
    if (!active || !tools) return undefined;
    for (const part of event.content.parts ?? []) {
      const call = part.functionCall;
      const tool = tools.get(call?.name ?? '');
      if (!call?.id || !tool) continue;
      const context = new Context({ invocationContext, functionCallId: call.id });
      const decision = isUnreadable(part)
        ? refuse(tool, ARGUMENTS_UNREADABLE)
        : await this.decide(tool, call.args ?? {}, context);
      const waits = mayWait(tool) || this.override?.includes(tool.name) === true;
      if (waits && hasBeforeToolCallbacks(invocationContext)) active.changeable.add(call.id);
      const isOptimistic =
        active.run.optimistic === true &&
        !decision.asks &&
        decision.tool instanceof DuologueTool &&
        !decision.refusal
          ? decision.tool.isOptimistic
          : false;
      active.decided(call.id, call.args ?? {}, isOptimistic ? { ...decision, optimistic: true } : decision);
    }
    return undefined;
  }

  /** Replaces a response that cannot be written as JSON by an error. The gate checks only what tools return, and this may be the response of a callback. */
  private checkResponses(event: Event, invocationContext: InvocationContext): void {
    for (const response of getFunctionResponses(event)) {
      const { id, name = 'the tool' } = response;
      try {
        response.response = toJsonResponse(name, response.response) as Record<string, unknown>;
      } catch (error) {
        response.response = { error: (error as Error).message };
        if (id !== undefined) this.activeIn(invocationContext)?.failures.add(id);
      }
    }
  }

  /** Decides about one call by the current state of the session. */
  async decide(tool: BaseTool, args: Record<string, unknown>, context: Context): Promise<Decision> {
    const refusal = nodeToolRefusal(tool);
    if (refusal !== null) return refuse(tool, refusal);
    const { invocationContext, functionCallId } = context;
    if (!this.activeIn(invocationContext)?.run.live) return decide(tool, args, context, this.override);
    // In a live run, tools run outside ADK's loop: their state changes are in the stored session, not in the copy of the session that ADK's loop has.
    const { sessionService, session: begun } = invocationContext;
    const { appName, userId, id: sessionId } = begun;
    const session = (await sessionService?.getSession({ appName, userId, sessionId })) ?? begun;
    const now = new Context({
      invocationContext: invocationContext.clone({ session }),
      ...(functionCallId === undefined ? {} : { functionCallId }),
    });
    return decide(tool, args, now, this.override);
  }

  /**
   * Replaces responses in an event by errors, for calls whose state changes were not stored because of a conflict. When it is not known which calls
   * changed state, all responses in the event are replaced.
   */
  withdraw(key: RunKey, event: Event): void {
    const active = this.active.get(keyOf(key));
    const responses = getFunctionResponses(event);
    const ids = responses.flatMap(({ id }) => (id === undefined ? [] : [id]));
    const withdrawn = active?.writersOf(ids) ?? ids;
    for (const response of responses) {
      if (response.id === undefined || !withdrawn.includes(response.id)) continue;
      response.response = { error: stateConflict(response.name ?? 'The tool') };
      active?.failures.add(response.id);
    }
  }

  /** Records that a tool failed, which its response alone does not show. */
  override async onToolErrorCallback({ toolContext }: { toolContext: Context }): Promise<undefined> {
    const { functionCallId, invocationContext } = toolContext;
    if (functionCallId) this.activeIn(invocationContext)?.failures.add(functionCallId);
  }
}

/** The gate plugin of a run; undefined when the run has none. */
export function pluginIn(context: { pluginManager: PluginManager }): GatePlugin | undefined {
  const plugin = context.pluginManager.getPlugin(GATE);
  return plugin instanceof GatePlugin ? plugin : undefined;
}

/** A finished transcript as the content of its event: without content, the speech would be missing in later model requests. */
function spokenContent(event: Event): Event['content'] {
  if (event.partial || event.content) return undefined;
  const { inputTranscription: input, outputTranscription: output } = event;
  if (input?.finished && input.text) return { role: 'user', parts: [{ text: input.text }] };
  if (output?.finished && output.text) return { role: 'model', parts: [{ text: output.text }] };
  return undefined;
}

/** Whether a response is the object in which ADK wraps an output that is no object. */
function isWrapping(response: Record<string, unknown>, output: unknown): boolean {
  if (typeof output === 'object' && output !== null && !Array.isArray(output)) return false;
  const key = Array.isArray(output) ? 'results' : 'result';
  return Object.keys(response).length === 1 && Object.hasOwn(response, key) && response[key] === output;
}

function keyOf(key: RunKey): string {
  return JSON.stringify([key.appName, key.userId, key.id]);
}
