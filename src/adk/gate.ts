import {
  type BaseAgent,
  BaseLlmRequestProcessor,
  BasePlugin,
  BaseTool,
  CONTENT_REQUEST_PROCESSOR,
  Context,
  type Event,
  getFunctionCalls,
  type InvocationContext,
  isLlmAgent,
  type LlmAgent,
  type LlmRequest,
  type PluginManager,
  ToolConfirmation,
} from '@google/adk';
import type { ToolFacts } from '../protocol/index.ts';
import { prepareHistory } from './history.ts';
import {
  type ApprovalOverride,
  type Decision,
  decide,
  mayWait,
  type OpenCall,
  type Run,
  runDecided,
} from './run.ts';
import { DuologueTool } from './tools.ts';

/** Identifies the session a run belongs to. */
export interface RunKey {
  appName: string;
  userId: string;
  id: string;
}

/** What is known of the calls of a run. */
export interface RunView {
  factsOf(callId: string): ToolFacts;
  /** Resolves when ADK has read the session: what is stored later is not in this run's history. */
  readonly begun: Promise<void>;
  /** Whether the tool itself failed, as opposed to returning something that looks like an error. */
  failed(callId: string): boolean;
  /** What the tool returned, where the response is only its wrapping. */
  outputOf(callId: string, response: Record<string, unknown>): unknown;
}

/** A run with the tools its agents have in this step and what was decided about each call. */
class ActiveRun implements RunView {
  readonly run: Run;
  readonly tools = new Map<string, Record<string, BaseTool>>();
  readonly decisions = new Map<string, Decision>();
  readonly failures = new Set<string>();
  readonly outputs = new Map<string, unknown>();

  readonly begun: Promise<void>;
  markBegun: () => void = () => undefined;

  constructor(run: Run) {
    this.run = run;
    this.begun = new Promise((resolve) => {
      this.markBegun = resolve;
    });
  }

  keep(callId: string, output: unknown): unknown {
    this.outputs.set(callId, output);
    return output;
  }

  factsOf(callId: string): ToolFacts {
    const { runsOn = 'server', asks = false, optimistic } = this.decisions.get(callId) ?? {};
    return { runsOn, asks, ...(optimistic ? { optimistic } : {}) };
  }

  failed(callId: string): boolean {
    return this.failures.has(callId);
  }

  outputOf(callId: string, response: Record<string, unknown>): unknown {
    if (!this.outputs.has(callId)) return response;
    const output = this.outputs.get(callId);
    return isWrapping(response, output) ? output : response;
  }
}

const GATE = 'duologue';

const NOTHING: Promise<undefined> = Promise.resolve(undefined);

interface EventParams {
  invocationContext: InvocationContext;
  event: Event;
}

/** The link from inside ADK to the session that runs: tools find it through their context, without any global. */
export class GatePlugin extends BasePlugin {
  private readonly active = new Map<string, ActiveRun>();
  readonly override: ApprovalOverride;

  constructor(override?: ApprovalOverride) {
    super(GATE);
    this.override = override;
  }

  begin(key: RunKey, run: Run): RunView {
    const active = new ActiveRun(run);
    this.active.set(keyOf(key), active);
    return active;
  }

  /** Ends a run; one that was begun later in the same session stays. */
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
  }): Promise<undefined> {
    this.activeIn(invocationContext)?.markBegun();
  }

  /** ADK asks every plugin about every token: nothing is made for the answer. */
  override afterModelCallback(): Promise<undefined> {
    return NOTHING;
  }

  override onEventCallback(params: EventParams): Promise<Event | undefined> {
    return params.event.partial ? NOTHING : this.decideOn(params);
  }

  /** Decides about every call when ADK announces it, so that the card can say at once what it is. */
  private async decideOn({ event, invocationContext }: EventParams): Promise<Event | undefined> {
    const spoken = spokenContent(event);
    if (spoken) return { ...event, content: spoken };
    if (!event.content) return undefined;
    const calls = getFunctionCalls(event);
    if (calls.length === 0) return undefined;
    const active = this.activeIn(invocationContext);
    const tools = active?.tools.get(event.author ?? '');
    if (!active || !tools) return undefined;
    for (const call of calls) {
      const gated = call.name === undefined ? undefined : tools[call.name];
      if (!call.id || !(gated instanceof Gated)) continue;
      const context = new Context({ invocationContext, functionCallId: call.id });
      const decision = await decide(gated.inner, call.args ?? {}, context, this.override);
      const isOptimistic =
        !active.run.live && !decision.asks && decision.tool instanceof DuologueTool && !decision.refusal
          ? decision.tool.isOptimistic
          : false;
      active.decisions.set(call.id, isOptimistic ? { ...decision, optimistic: true } : decision);
    }
    return undefined;
  }

  /** Remembers that a tool failed: its response alone does not tell. */
  override async onToolErrorCallback({ toolContext }: { toolContext: Context }): Promise<undefined> {
    const { functionCallId, invocationContext } = toolContext;
    if (functionCallId) this.activeIn(invocationContext)?.failures.add(functionCallId);
  }
}

/** A finished transcript as content: without it, what was spoken would be in no later request. */
function spokenContent(event: Event): Event['content'] {
  if (event.partial || event.content) return undefined;
  const { inputTranscription: heard, outputTranscription: said } = event;
  if (heard?.finished && heard.text) return { role: 'user', parts: [{ text: heard.text }] };
  if (said?.finished && said.text) return { role: 'model', parts: [{ text: said.text }] };
  return undefined;
}

/**
 * Stands last among an agent's tools and has no declaration of its own: ADK calls it once all tools are in the request,
 * and it puts a gate before each.
 */
class Gate extends BaseTool {
  constructor() {
    super({ name: 'duologue_gate', description: 'Puts a gate before every tool.' });
  }

  override runAsync(): Promise<unknown> {
    throw new Error('The gate is not a tool to call.');
  }

  override async processLlmRequest(request: { toolContext: Context; llmRequest: LlmRequest }): Promise<void> {
    const { toolsDict } = request.llmRequest;
    const { invocationContext, agentName } = request.toolContext;
    const active = pluginIn(invocationContext)?.activeIn(invocationContext);
    if (!active) return;
    for (const [name, tool] of Object.entries(toolsDict)) {
      if (!(tool instanceof Gated)) toolsDict[name] = new Gated(tool);
    }
    active.tools.set(agentName, toolsDict);
  }
}

/** Tools of ADK itself: what they do, ADK sees in the response that its own loop makes. */
const FRAMEWORK = new Set([
  'transfer_to_agent',
  'finish_task',
  'task_completed',
  'set_model_response',
  'exit_loop',
]);

/** A tool behind a gate: it runs, or its call is deferred and nothing waits for it. */
class Gated extends BaseTool {
  readonly inner: BaseTool;
  /** A live model that can goes on speaking while a call of this tool waits. */
  readonly nonBlocking: boolean;

  constructor(inner: BaseTool) {
    super({ name: inner.name, description: inner.description });
    this.inner = inner;
    this.nonBlocking = mayWait(inner);
  }

  override _getDeclaration() {
    return this.inner._getDeclaration();
  }

  override async runAsync(request: {
    args: Record<string, unknown>;
    toolContext: Context;
  }): Promise<unknown> {
    const { args, toolContext } = request;
    const { invocationContext, functionCallId: id } = toolContext;
    const plugin = pluginIn(invocationContext);
    const active = plugin?.activeIn(invocationContext);
    if (!plugin || !id) return this.inner.runAsync(request);
    // Whoever would have to be asked is gone.
    if (!active) throw new Error('The run is over.');

    const decision =
      active.decisions.get(id) ?? (await decide(this.inner, args, toolContext, plugin.override));
    const later = async (facts: ToolFacts) => {
      await active.run.defer({
        id,
        toolName: this.name,
        args,
        runsOn: facts.runsOn,
        asks: facts.asks,
        agent: toolContext.agentName,
        invocationId: toolContext.invocationId,
        branch: invocationContext.branch,
      });
      return this.answerLater(true);
    };

    this.answerLater(false);
    if (decision.refusal) throw new Error(decision.refusal);
    if (decision.asks) return later(decision);
    // Live, ADK reads nothing from the model while a tool runs: so no tool runs inside its loop.
    if (active.run.live && !FRAMEWORK.has(this.name)) return later(decision);
    const { inner } = this;
    if (decision.runsOn === 'client' && inner instanceof DuologueTool) {
      return decision.optimistic ? active.keep(id, inner.optimistic(decision.args)) : later(decision);
    }
    if (decision.waived) toolContext.toolConfirmation = new ToolConfirmation({ confirmed: true });
    const output = await unlessAborted(runDecided(inner, request), toolContext.abortSignal);
    if (takeConfirmationRequest(toolContext, id)) return later({ runsOn: decision.runsOn, asks: true });
    if (decision.runsOn === 'client' && output == null) return later({ runsOn: 'client', asks: false });
    return active.keep(id, output);
  }

  /** ADK leaves a call open when a long-running tool returns nothing; read right after the tool, one call at a time. */
  private answerLater(later: boolean): undefined {
    (this as { isLongRunning: boolean }).isLongRunning = later;
    return undefined;
  }
}

/** Whether a tool asked for confirmation while it ran; the request is taken back, the gate asks instead. */
export function takeConfirmationRequest(context: Context, callId: string): boolean {
  const requested = context.actions.requestedToolConfirmations;
  if (!requested || !Object.hasOwn(requested, callId)) return false;
  delete requested[callId];
  context.actions.skipSummarization = false;
  return true;
}

/** Gives the model a sound history, and ends the step instead of calling the model while a call is open. */
class History extends BaseLlmRequestProcessor {
  override async *runAsync(
    context: InvocationContext,
    request: LlmRequest,
  ): AsyncGenerator<Event, void, void> {
    const live = context.liveRequestQueue !== undefined;
    const { events, open } = prepareHistory(context.session.events, { placeholders: live });
    if (open && !live) {
      context.endInvocation = true;
      return;
    }
    const session = events === context.session.events ? context.session : { ...context.session, events };
    yield* CONTENT_REQUEST_PROCESSOR.runAsync(
      session === context.session ? context : context.clone({ session }),
      request,
    );
  }
}

/** Prepares every LLM agent of a tree to run behind gates. Doing it twice changes nothing. */
export function instrument(root: LlmAgent | { subAgents: unknown[] }): void {
  const agents: unknown[] = [root];
  for (let agent = agents.pop(); agent !== undefined; agent = agents.pop()) {
    const { subAgents } = agent as { subAgents?: unknown[] };
    agents.push(...(subAgents ?? []));
    if (!isLlmAgent(agent as never)) continue;
    const llmAgent = agent as LlmAgent;
    if (llmAgent.tools.some((tool) => tool instanceof Gate)) continue;
    llmAgent.tools = [...llmAgent.tools, new Gate()];
    llmAgent.requestProcessors = llmAgent.requestProcessors.map((processor) =>
      processor === CONTENT_REQUEST_PROCESSOR ? new History() : processor,
    );
  }
}

/** Whether a tree has LLM agents only, which hand over to one another and wait for nobody in between. */
export function isAllLlm(root: BaseAgent): boolean {
  return isLlmAgent(root) && root.subAgents.every((agent) => isAllLlm(agent));
}

/** What a tool returns; a tool that does not listen to the signal is left alone when it is given. */
async function unlessAborted(work: Promise<unknown>, signal: AbortSignal | undefined): Promise<unknown> {
  if (!signal) return work;
  let leave = () => {};
  const aborted = new Promise<never>((_, reject) => {
    leave = () => reject(new Error('The call was aborted.'));
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}

/** ADK puts what is no object into one. */
function isWrapping(response: Record<string, unknown>, output: unknown): boolean {
  if (typeof output === 'object' && output !== null && !Array.isArray(output)) return false;
  const key = Array.isArray(output) ? 'results' : 'result';
  return Object.keys(response).length === 1 && Object.hasOwn(response, key) && response[key] === output;
}

/** The calls that wait in the session of a tool: its own connection's, never another's. */
export function openCalls(context: Context): readonly OpenCall[] {
  const { invocationContext } = context;
  return pluginIn(invocationContext)?.activeIn(invocationContext)?.run.openCalls() ?? [];
}

/** The plugin of a run. */
export function pluginIn(context: { pluginManager: PluginManager }): GatePlugin | undefined {
  const plugin = context.pluginManager.getPlugin(GATE);
  return plugin instanceof GatePlugin ? plugin : undefined;
}

function keyOf(key: RunKey): string {
  return JSON.stringify([key.appName, key.userId, key.id]);
}
