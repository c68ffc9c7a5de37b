import {
  type BaseAgent,
  type BaseArtifactService,
  type Context,
  type Event,
  InMemoryMemoryService,
  type InvocationContext,
  isFinalResponse,
  isLlmAgent,
  PluginManager,
  Runner,
  type Session,
  State,
} from '@google/adk';
import type { Content } from '@google/genai';
import { OUTCOME_UNKNOWN } from '../protocol/index.ts';
import { guardPluginCallbacks } from './callbacks.ts';
import type { CredentialSource } from './credentials.ts';
import { type GatedAgents, GatePlugin, pluginIn } from './gate-plugin.ts';
import { danglingCalls, RESUME } from './history.ts';
import type { ApprovalOverride, DeferredCall, InnerHost, Run, ServerTools } from './run.ts';

/** What `runPausable` returns when the agent has no result yet: calls inside it wait, or the call was aborted. */
export const PAUSED = Symbol('duologue.paused');

/** Key in the custom metadata of the first event of a run. The value is the id of the call that the run belongs to. */
const RUN_OF = 'duologueCall';
/** Key in the custom metadata of a response that `answerOpen` added: a copy from the history of the conversation, or the error of a lost call. */
const COPIED = 'duologueCopied';

/** A call whose tool is an agent that can pause. */
export interface PausableCall {
  agent: BaseAgent;
  args: Record<string, unknown>;
  /** The context of the call in the agent that made it. */
  context: Context;
  host: InnerHost;
  /** The names of the agents from the outside in: first the agent of the conversation, last the agent that made this call. */
  path: readonly string[];
  /** Whether the store has this call, so that calls inside it can be recorded too. */
  isRecorded: boolean;
  /** Whether the call may have been started before, by this process or an earlier one. */
  isContinued: boolean;
  override: ApprovalOverride;
  /** The source of the credentials that tools of the agent request. */
  credentials: CredentialSource;
  /** Runs the tools of the conversation. The tools of the agent run by the same rules, under a separate lock (`apart`). */
  tools: ServerTools;
}

/**
 * Runs an agent that is used as a tool, or continues its run. As in ADK, the agent has a session of its own with the id of the conversation's session, and
 * the result is the text of its last event (parsed, if the agent has an output schema). When a call inside the agent waits, it becomes a call of the
 * conversation, the run pauses, and this function returns `PAUSED`. Called again when these calls have ended, possibly by another process, this function
 * continues the run from the stored events. A call of the earlier run that has no response and does not wait was interrupted: it does not run again, and
 * gets the error that its outcome is unknown.
 */
export async function runPausable(call: PausableCall): Promise<unknown> {
  const { agent, context, host, isContinued } = call;
  const id = context.functionCallId ?? '';
  pluginIn(context.invocationContext)?.agents.prepareTool(agent);
  const open = () => host.open(agent.name, context.state.toRecord());
  let session = await open();
  const isKnown = startOf(session.events, id) !== undefined;
  if (!isKnown && isContinued && host.hasOlder(session)) throw new Error(OUTCOME_UNKNOWN);
  if (isKnown) {
    if ((await answerOpen(call, session, true)) === 'wait') return PAUSED;
    const last = eventsOf(session, id).findLast((event) => event.content?.parts?.length);
    if (last && isEnd(last)) return resultOf(call, session, last);
  }
  for (;;) {
    if (context.abortSignal?.aborted) return PAUSED;
    const isStarted = startOf(session.events, id) !== undefined;
    const last = await runOnce(call, isStarted, session);
    if (context.abortSignal?.aborted) return PAUSED;
    session = await open();
    const left = await answerOpen(call, session, false);
    if (left === 'wait') return PAUSED;
    if (left === 'none') return resultOf(call, session, last);
  }
}

/**
 * Runs the agent in ADK once, and returns the last event; undefined when ADK emitted none. The first run of a call gets the message of the call; later runs
 * continue the first one.
 */
async function runOnce(call: PausableCall, isStarted: boolean, session: Session): Promise<Event | undefined> {
  const { agent, context, host, override, credentials, tools } = call;
  const { memoryService, credentialService } = context.invocationContext;
  const id = context.functionCallId ?? '';
  const agents = pluginIn(context.invocationContext)?.agentsInside;
  const plugin = new InnerPlugin(id, override, agents, credentials);
  const sessionService = context.invocationContext.sessionService;
  if (!sessionService) throw new Error(`The agent "${agent.name}" has no session service.`);
  const runner = new Runner({
    appName: agent.name,
    agent,
    sessionService,
    artifactService: new ForwardedArtifacts(context),
    memoryService: memoryService ?? new InMemoryMemoryService(),
    ...(credentialService ? { credentialService } : {}),
    plugins: [plugin],
    resumabilityConfig: { isResumable: true },
  });
  guardPluginCallbacks(runner.pluginManager);
  const { userId, id: sessionId } = session;
  const run: Run = {
    live: false,
    tools: tools.apart(),
    inner: host,
    path: call.path,
    defer: (made) => deferInside(call, made),
  };
  const view = plugin.begin({ appName: agent.name, userId, id: sessionId }, run);
  let last: Event | undefined;
  try {
    const events = runner.runAsync({
      userId,
      sessionId,
      newMessage: isStarted ? { role: 'user', parts: [{ text: '' }] } : messageOf(call),
      customMetadata: isStarted ? RESUME : { [RUN_OF]: id },
      ...(context.abortSignal ? { abortSignal: context.abortSignal } : {}),
    });
    for await (const event of events) last = event;
    return last;
  } finally {
    plugin.end(view);
  }
}

/**
 * Defers `made`, a call that the agent made. Records it at once if `call`, whose tool is the agent, is recorded. Otherwise keeps it in `host.pending`, because
 * `call` has to be recorded first.
 */
async function deferInside(call: PausableCall, made: DeferredCall): Promise<void> {
  const { host, context, path, isRecorded } = call;
  const within = context.functionCallId ?? '';
  const placed: DeferredCall = {
    ...made,
    agents: { within, path: [...path, made.agent], isAgent: made.agents?.isAgent === true },
  };
  if (isRecorded) await host.defer(placed);
  else host.pending.set(placed.id, placed);
}

/** Makes the user message for the agent from the arguments, as ADK does. */
function messageOf({ agent, args }: PausableCall): Content {
  const isObject = isLlmAgent(agent) && agent.inputSchema;
  return { role: 'user', parts: [{ text: isObject ? JSON.stringify(args) : (args.request as string) }] };
}

/**
 * Adds the responses to calls inside the agent that have none yet. Returns `wait` when one of these calls still waits; otherwise `answered` when a response
 * was added, and `none` when none was. `isInterrupted`: an earlier run may have been interrupted, so a call that is neither recorded nor in `host.pending`
 * gets the error that its outcome is unknown.
 */
async function answerOpen(
  call: PausableCall,
  session: Session,
  isInterrupted: boolean,
): Promise<'wait' | 'answered' | 'none'> {
  const { context, host, isRecorded } = call;
  const within = context.functionCallId ?? '';
  let left: 'wait' | 'answered' | 'none' = 'none';
  const ended: { id: string; name: string; event: Event }[] = [];
  const append = async (of: Event, response: Event) => {
    const { invocationId, branch } = of;
    const { settled, wrapped } = response.customMetadata ?? {};
    const event: Event = {
      ...response,
      id: `${of.id}-${response.id}`,
      invocationId,
      author: of.author ?? '',
      ...(branch === undefined ? {} : { branch }),
      customMetadata: { settled, wrapped, [COPIED]: true },
    };
    await context.invocationContext.sessionService?.appendEvent({ session, event });
    if (left === 'none') left = 'answered';
  };
  for (const open of danglingCalls(eventsOf(session, within))) {
    const recorded = await host.find(open.id);
    const waits = host.pending.get(open.id);
    if (recorded?.within === within) {
      if (recorded.hasEnded) ended.push(open);
      else left = 'wait';
    } else if (waits?.agents?.within === within) {
      if (isRecorded) {
        host.pending.delete(open.id);
        await host.defer(waits);
      }
      left = 'wait';
    } else if (isInterrupted) await append(open.event, failure(open, OUTCOME_UNKNOWN));
  }
  if (ended.length === 0) return left;
  const answers = await host.answersWithin(within, new Set(ended.map(({ id }) => id)));
  for (const open of ended) await append(open.event, answers.get(open.id) ?? failure(open, OUTCOME_UNKNOWN));
  return left;
}

function failure({ id, name, event }: { id: string; name: string; event: Event }, error: string): Event {
  return {
    ...event,
    id,
    content: { role: 'user', parts: [{ functionResponse: { id, name, response: { error } } }] },
    longRunningToolIds: [],
    actions: { stateDelta: {}, artifactDelta: {}, requestedAuthConfigs: {}, requestedToolConfirmations: {} },
    timestamp: Date.now(),
  };
}

/** The event with which the run of a call started; undefined when the run has not started. */
function startOf(events: readonly Event[], callId: string): Event | undefined {
  return events.findLast(({ customMetadata }) => customMetadata?.[RUN_OF] === callId);
}

/** The events of the run of a call, after the event with which it started. */
function eventsOf({ events }: Session, callId: string): Event[] {
  const start = startOf(events, callId);
  if (!start) return [];
  return events
    .slice(events.indexOf(start) + 1)
    .filter(({ invocationId }) => invocationId === start.invocationId);
}

/** Whether a run ended with this event. */
function isEnd(event: Event): boolean {
  const isAnswer = event.customMetadata?.[COPIED] === true || (event.longRunningToolIds?.length ?? 0) > 0;
  return event.author !== 'user' && !isAnswer && isFinalResponse(event);
}

/** Returns the result of a run as ADK makes it, and copies the state and the artifacts that the agent changed to the context of the call. */
function resultOf({ agent, context }: PausableCall, session: Session, last: Event | undefined): unknown {
  const state = new Map<string, { value: unknown; isCopy: boolean }>();
  for (const { actions, customMetadata } of eventsOf(session, context.functionCallId ?? '')) {
    // An event with `COPIED` is the response of a recorded call, whose changes have been in the conversation since it ended, or an error without changes.
    const isCopy = customMetadata?.[COPIED] === true;
    for (const [key, value] of Object.entries(actions.stateDelta ?? {})) state.set(key, { value, isCopy });
    if (!isCopy) Object.assign(context.actions.artifactDelta, actions.artifactDelta);
  }
  for (const [key, { value, isCopy }] of state)
    if (!isCopy && !key.startsWith(State.TEMP_PREFIX)) context.state.update({ [key]: value });
  if (!last?.content?.parts?.length) return '';
  const texts = last.content.parts.flatMap(({ text, thought }) => (text && !thought ? [text] : []));
  const text = texts.join('\n');
  return isLlmAgent(agent) && agent.outputSchema ? JSON.parse(text) : text;
}

/**
 * The plugin of the run of an agent that is used as a tool. It gives all events of the run one invocation id. The agent sees the events of this run, and of
 * its other runs in the same session only those that ended before this run began.
 */
class InnerPlugin extends GatePlugin {
  private readonly callId: string;

  constructor(
    callId: string,
    override: ApprovalOverride,
    agents: GatedAgents | undefined,
    credentials: CredentialSource,
  ) {
    super(override, agents, credentials);
    this.callId = callId;
  }

  override async onUserMessageCallback({
    invocationContext,
  }: {
    invocationContext: InvocationContext;
  }): Promise<undefined> {
    const { events } = invocationContext.session;
    const start = startOf(events, this.callId);
    if (start) (invocationContext as { invocationId: string }).invocationId = start.invocationId;
    const kept = visibleIn(events, start);
    if (kept.length < events.length) events.splice(0, events.length, ...kept);
  }
}

/** The plugins for a recorded call inside an agent that is used as a tool. As in ADK, the plugins of the application are not among them. */
export function innerPlugins({ override, agentsInside }: GatePlugin): PluginManager {
  const manager = new PluginManager([new GatePlugin(override, agentsInside)]);
  guardPluginCallbacks(manager);
  return manager;
}

/** The events that a run sees: its own events, and the events of runs that ended before it began. */
function visibleIn(events: readonly Event[], start: Event | undefined): Event[] {
  const before = start ? events.slice(0, events.indexOf(start)) : events;
  const unfinished = new Set<string>();
  for (const { customMetadata, invocationId } of before) {
    if (customMetadata?.[RUN_OF] === undefined) continue;
    const own = before.filter((event) => event.invocationId === invocationId);
    const last = own.findLast((event) => event.content?.parts?.length);
    if (!last || !isEnd(last) || danglingCalls(own).length > 0) unfinished.add(invocationId);
  }
  return events.filter((event, index) =>
    start && event.invocationId === start.invocationId
      ? true
      : index < before.length && !unfinished.has(event.invocationId),
  );
}

/** Gives an agent that is used as a tool the artifacts of the conversation, as ADK does. */
class ForwardedArtifacts implements BaseArtifactService {
  private readonly context: Context;

  constructor(context: Context) {
    this.context = context;
  }

  saveArtifact(request: Parameters<BaseArtifactService['saveArtifact']>[0]) {
    return this.context.saveArtifact(request.filename, request.artifact);
  }

  loadArtifact({ filename, version }: Parameters<BaseArtifactService['loadArtifact']>[0]) {
    return this.context.loadArtifact(filename, version);
  }

  listArtifactKeys() {
    return this.context.listArtifacts();
  }

  private get service() {
    const { artifactService } = this.context.invocationContext;
    if (!artifactService) throw new Error('The tool uses an artifact, but its run has no artifact service.');
    return artifactService;
  }

  async deleteArtifact({ filename }: { filename: string }) {
    await this.service.deleteArtifact(filename);
  }

  async listVersions({ filename }: { filename: string }) {
    return this.service.listVersions(filename);
  }

  async listArtifactVersions({ filename }: { filename: string }) {
    return this.service.listArtifactVersions(filename);
  }

  async getArtifactVersion({ filename, version }: Parameters<BaseArtifactService['getArtifactVersion']>[0]) {
    return this.service.getArtifactVersion({ filename, ...(version === undefined ? {} : { version }) });
  }
}
