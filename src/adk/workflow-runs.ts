import {
  type BaseNode,
  createEvent,
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  type InvocationContext,
  isLlmAgent,
  type LlmAgent,
  type NodeContext,
} from '@google/adk';
import { danglingCalls } from './history.ts';
import { interruptIds, isAskedByNode } from './node-questions.ts';
import { unlessAborted } from './run.ts';

type RunNode = (context: NodeContext, input: unknown) => AsyncGenerator<Event, void, void>;

/** What a node needs of the run that it belongs to. */
export interface NodeRun {
  /** Resolves when an event of the run is stored, or could not be. */
  whenStored(eventId: string): Promise<void>;
  /** Resolves when all events that the nodes of a workflow have emitted so far are stored. */
  whenAllStored(): Promise<void>;
}

const noted = new WeakSet<object>();

/** Notes the events that the nodes of a run emit, so that an agent can wait for them. Doing it twice changes nothing. */
export function noteEmitted({ channel }: NodeContext, run: NodeRun): void {
  if (noted.has(channel)) return;
  noted.add(channel);
  const push = channel.push.bind(channel);
  channel.push = (event) => {
    // Registers the event. The promise resolves whether or not the event could be stored, so it never rejects.
    if (!event.partial) run.whenStored(event.id).catch(() => undefined);
    push(event);
  };
}

const prepared = new WeakSet<LlmAgent>();

/**
 * Lets calls wait inside an agent that is a node of a workflow. ADK would end such a node without an output and continue with the next one; when the answer
 * comes it would give the node its input again, so that the model asks again. Doing it twice changes nothing.
 */
export function pauseAsNode(
  agent: LlmAgent,
  runOf: (context: InvocationContext) => NodeRun | undefined,
): void {
  if (prepared.has(agent)) return;
  prepared.add(agent);
  const run = (Reflect.get(agent, 'runImpl') as RunNode).bind(agent);
  const value: RunNode = async function* runImpl(context, input) {
    const { invocationContext, session, nodePath, branch } = context;
    const active = runOf(invocationContext);
    // ADK starts a node before the output of the one before it is stored; the agent would then take that output for the newest message, and not its input.
    if (active) await unlessAborted(active.whenAllStored(), invocationContext.abortSignal, () => undefined);
    const events = isPaused(context) ? run(continued(context, input), undefined) : run(context, input);
    for await (const event of events) {
      // ADK does not wait for its session service here, and the agent's next request is made from the stored events.
      const stored = event.partial ? undefined : active?.whenStored(event.id);
      yield event;
      if (stored) await unlessAborted(stored, invocationContext.abortSignal, () => undefined);
    }
    const open = danglingCalls(session.events).filter(
      ({ event }) =>
        event.invocationId === context.invocationId &&
        event.branch === branch &&
        event.nodeInfo?.path === nodePath,
    );
    if (open.length === 0) return;
    // ADK takes a node whose event names calls as paused, and its run ends.
    yield createEvent({
      author: agent.name,
      invocationId: context.invocationId,
      ...(branch === undefined ? {} : { branch }),
      longRunningToolIds: open.map(({ id }) => id),
    });
  };
  Object.defineProperty(agent, 'runImpl', { value, configurable: true });
}

/**
 * Whether the last run of this node stopped between a call and the agent's end. The event with which a node pauses is not enough to know it: a client may answer
 * before that event is stored, and a killed process never stores it.
 */
function isPaused({ session, invocationId, nodePath }: NodeContext): boolean {
  const last = session.events.findLast(
    (event) =>
      event.invocationId === invocationId && event.author !== 'user' && event.nodeInfo?.path === nodePath,
  );
  if (!last || last.output !== undefined || last.route !== undefined) return false;
  return isWaiting(last) || getFunctionCalls(last).length > 0 || getFunctionResponses(last).length > 0;
}

function isWaiting(event: Event | undefined): boolean {
  return (event?.longRunningToolIds?.length ?? 0) > 0;
}

/** The context of a node that continues: run without an input, ADK adds none to the history; the instructions get the input that the node had. */
function continued(context: NodeContext, input: unknown): NodeContext {
  const getInvocationContext = () => {
    const own = context.getInvocationContext().clone();
    const clone = own.clone.bind(own);
    own.clone = (overrides = {}) => {
      const { workflowInstructionScope: scope } = overrides;
      return clone(scope ? { ...overrides, workflowInstructionScope: { ...scope, input } } : overrides);
    };
    return own;
  };
  return Object.create(context, { getInvocationContext: { value: getInvocationContext } }) as NodeContext;
}

/**
 * Prepares the run of a workflow. A run that continues gets the id of the invocation that paused, since ADK finds the finished nodes by it. The list of
 * events belongs to this run: in it the events of other invocations do not look like nodes of this one, and a node that paused and finished later has
 * finished once. Returns what the user reads instead of a run, when a question of a node ended without an answer; otherwise null.
 */
export function prepareWorkflow(context: InvocationContext): string | null {
  const { events } = context.session;
  const isResumed = !events.some(
    ({ invocationId, customMetadata }) =>
      invocationId === context.invocationId && customMetadata?.duologue !== 'resume',
  );
  const answered = isResumed ? events.findLast((event) => event.customMetadata?.settled !== undefined) : null;
  if (answered?.invocationId) (context as { invocationId: string }).invocationId = answered.invocationId;
  const own = events.filter(({ invocationId }) => invocationId === context.invocationId);
  const finished = finishedPauses(own);
  const asked = interruptIds(own);
  events.forEach((event, index) => {
    const isOwn = event.invocationId === context.invocationId;
    if (!isOwn && event.nodeInfo) events[index] = ofNoNode(event);
    else if (isOwn && finished.has(event)) events[index] = { ...event, longRunningToolIds: [] };
    else if (isOwn && asked.size > 0) events[index] = withInterruptIds(event, asked);
  });
  return isResumed ? unansweredIn(own, asked) : null;
}

/** An event with the ids by which nodes know their questions. An answer is one of the user, as ADK expects it. */
function withInterruptIds(event: Event, asked: ReadonlyMap<string, string>): Event {
  const parts = event.content?.parts ?? [];
  const isAnswer = parts.some(({ functionResponse }) => asked.has(functionResponse?.id ?? ''));
  if (!isAnswer && !isAskedByNode(event)) return event;
  const own = (id: string | undefined) => asked.get(id ?? '') ?? id ?? '';
  return {
    ...event,
    ...(isAnswer ? { author: 'user' } : {}),
    content: {
      ...event.content,
      parts: parts.map(({ functionCall: call, functionResponse: response, ...part }) => ({
        ...part,
        ...(call ? { functionCall: { ...call, id: own(call.id) } } : {}),
        // ADK unwraps exactly this member.
        ...(response
          ? {
              functionResponse: {
                ...response,
                id: own(response.id),
                response: { result: outputIn(response.response, event.customMetadata) },
              },
            }
          : {}),
      })),
    },
    longRunningToolIds: event.longRunningToolIds?.map(own) ?? [],
  };
}

/** The output of a call as the user gave it: a value that is no object is stored wrapped. */
function outputIn(response: Record<string, unknown> = {}, metadata: Event['customMetadata']): unknown {
  return metadata?.wrapped === true ? (response.results ?? response.result ?? null) : response;
}

/** What the user reads when a question of a node ended without an answer: the node cannot continue. Null when every question has one. */
function unansweredIn(events: readonly Event[], asked: ReadonlyMap<string, string>): string | null {
  if (asked.size === 0) return null;
  for (const event of events) {
    const { settled } = event.customMetadata ?? {};
    if (settled === undefined || settled === 'output') continue;
    for (const { functionResponse } of event.content?.parts ?? []) {
      if (asked.has(functionResponse?.id ?? '')) return `${String(functionResponse?.response?.error)}.`;
    }
  }
  return null;
}

function ofNoNode({ nodeInfo: _, ...event }: Event): Event {
  return { ...event, longRunningToolIds: [] };
}

/** The events with which nodes paused that have finished since. */
function finishedPauses(events: readonly Event[]): Set<Event> {
  const finished = new Set<Event>();
  const waiting = new Map<string, Event[]>();
  for (const event of events) {
    const path = event.author === 'user' ? undefined : event.nodeInfo?.path;
    if (path === undefined) continue;
    const paused = waiting.get(path) ?? [];
    if (isWaiting(event)) waiting.set(path, [...paused, event]);
    else if (event.output !== undefined || event.route !== undefined) {
      for (const one of paused) finished.add(one);
      waiting.delete(path);
    }
  }
  return finished;
}

/** Refuses a request for input inside a workflow that is used as a tool: no answer could continue it. */
export function checkRequestInput({ author, nodeInfo }: Event, rootName: string): void {
  const [first] = nodeInfo?.path?.split(/[.@]/) ?? [];
  if (first === rootName) return;
  throw new Error(
    `The node "${author}" asks for input with RequestInput inside a workflow that is used as a tool, which is not supported. Ask with a tool of the agent instead.`,
  );
}

/** Marks a finished node without an output as finished: ADK would run it again when a later node continues. */
export function markFinished(node: BaseNode, context: NodeContext, output: unknown): void {
  const { interruptIds, route, nodePath, invocationId, branch } = context;
  const hasEnd = output !== undefined || route !== undefined || interruptIds.length > 0;
  if (hasEnd || node.waitForOutput) return;
  context.emit(
    createEvent({
      author: node.name,
      invocationId,
      ...(branch === undefined ? {} : { branch }),
      nodeInfo: { path: nodePath },
      output: null,
    }),
  );
}

/** Whether a node is an LLM agent. */
export function isLlmNode(node: unknown): node is LlmAgent {
  return isLlmAgent(node as never);
}
