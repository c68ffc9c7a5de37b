import {
  type BaseAgent,
  type BaseNode,
  createEvent,
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  type InvocationContext,
  type NodeContext,
} from '@google/adk';
import { danglingCalls, withoutInner } from './history.ts';
import { interruptIds, isAskedByNode } from './node-questions.ts';
import { unlessAborted } from './run.ts';

type RunNode = (context: NodeContext, input: unknown) => AsyncGenerator<Event, void, void>;

/** The part of a run that its workflow nodes use. */
export interface NodeRun {
  /** Resolves when an event of the run is stored, or could not be. */
  whenStored(eventId: string): Promise<void>;
  /** Resolves when all events that the nodes of a workflow have emitted so far are stored, or could not be. */
  whenAllStored(): Promise<void>;
}

const noted = new WeakSet<object>();

/** Registers the events that the nodes of a run emit, so that an agent can wait until they are stored. A second call for the same channel changes nothing. */
export function noteEmitted({ channel }: NodeContext, run: NodeRun): void {
  if (noted.has(channel)) return;
  noted.add(channel);
  const push = channel.push.bind(channel);
  channel.push = (event) => {
    // This call registers the event. Its promise resolves whether or not the event could be stored, so it never rejects.
    if (!event.partial) run.whenStored(event.id).catch(() => undefined);
    push(event);
  };
}

/** The answers that a run begins with. */
interface Answers {
  /** By the ids that the nodes gave their questions. ADK fills it when the workflow at the root begins. */
  byId: NodeContext['resumeInputs'];
  /** The ids of the open questions of each node, by its path, until the node continues. */
  open: Map<string, readonly string[]>;
}

const answers = new WeakMap<NodeContext['channel'], Answers>();

/**
 * Gives a node the answers to its questions where ADK does not. ADK gives answers only to the first activation of a node in a run. When a loop of the graph
 * continues, ADK does not run its finished rounds again, but counts each as an activation, so a node that runs again in a later round would get no answer.
 * Call this for every node before it runs, for the workflow at the root first: its answers are those of the run.
 */
export function giveAnswers(context: NodeContext): void {
  const { channel, nodePath, resumeInputs } = context;
  const known = answers.get(channel);
  // The questions are read before a node runs: events of this run are stored at any time.
  if (!known) answers.set(channel, { byId: resumeInputs, open: openQuestions(context) });
  const ids = known?.open.get(nodePath);
  known?.open.delete(nodePath);
  // ADK has not given the answers when it made another object for this node.
  if (!known || !ids || known.byId === resumeInputs) return;
  for (const id of ids) if (known.byId[id] !== undefined) resumeInputs[id] = known.byId[id];
}

function openQuestions({ session, invocationId }: NodeContext): Map<string, readonly string[]> {
  const open = new Map<string, readonly string[]>();
  for (const { author, invocationId: id, nodeInfo, longRunningToolIds = [] } of session.events)
    if (id === invocationId && author !== 'user' && nodeInfo?.path)
      open.set(nodeInfo.path, longRunningToolIds);
  return open;
}

const prepared = new WeakSet<BaseAgent>();

/**
 * Lets calls wait inside an agent that is a node of a workflow. Without this, ADK would end such a node without an output and continue with the next node;
 * when the answer comes, ADK would give the node its input again, so that the model asks again. Calling this again for the same agent changes nothing.
 */
export function pauseAsNode(
  agent: BaseAgent,
  runOf: (context: InvocationContext) => NodeRun | undefined,
): void {
  if (prepared.has(agent)) return;
  prepared.add(agent);
  const run = Reflect.get(agent, 'runImpl') as RunNode;
  const value: RunNode = async function* runImpl(context, input) {
    const { invocationContext, session, nodePath, branch } = context;
    const active = runOf(invocationContext);
    // ADK starts a node before the output of the previous node is stored. If it were stored later, the agent would take that output for the newest
    // message, instead of its own input. So wait for it.
    if (active) await unlessAborted(active.whenAllStored(), invocationContext.abortSignal, () => undefined);
    const events = isPaused(context)
      ? run.call(continuing(agent, context), continued(context, input), undefined)
      : run.call(agent, context, input);
    for await (const event of events) {
      // ADK does not wait until an event is stored here, but the agent's next request is made from the stored events. So wait for it.
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
    // An event that names open calls tells ADK that the node is paused, and ADK ends its run.
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
 * Whether the last run of this node stopped after a call, before the agent finished. Looking for the event with which a node pauses is not enough: a client
 * may answer before that event is stored, and a process that was killed never stores it.
 */
function isPaused(context: NodeContext): boolean {
  const last = lastEventOf(context);
  if (!last || last.output !== undefined || last.route !== undefined) return false;
  return isWaiting(last) || getFunctionCalls(last).length > 0 || getFunctionResponses(last).length > 0;
}

/** The newest event of a node in its invocation that fulfils a condition. */
function lastEventOf(
  { session, invocationId, nodePath }: NodeContext,
  fulfils: (event: Event) => boolean = () => true,
): Event | undefined {
  return session.events.findLast(
    (event) =>
      event.invocationId === invocationId &&
      event.author !== 'user' &&
      event.nodeInfo?.path === nodePath &&
      fulfils(event),
  );
}

/**
 * The agent of a node, whose run continues with the sub-agent that made the newest call: the agent has transferred to it, or has chosen it (`RoutedAgent`).
 * The sub-agent answers, as it does when no call waits.
 */
function continuing(agent: BaseAgent, context: NodeContext): BaseAgent {
  const name = lastEventOf(context, (event) => getFunctionCalls(event).length > 0)?.author;
  const speaker = name === undefined ? undefined : agent.findAgent(name);
  if (!speaker || speaker === agent) return agent;
  return Object.create(agent, {
    runAsync: { value: (own: InvocationContext) => speaker.runAsync(own) },
  }) as BaseAgent;
}

function isWaiting(event: Event | undefined): boolean {
  return (event?.longRunningToolIds?.length ?? 0) > 0;
}

/**
 * The context of a node that continues. The node runs without an input, so that ADK does not add the input to the history again; its instructions
 * still get the input that the node had.
 */
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
 * Prepares the run of a workflow. A run that continues gets the id of the invocation that paused (`continues`, otherwise the invocation of the last
 * answer), because ADK finds the finished nodes by that id. The events in the context are this run's own copy, so this function changes them: it removes
 * answers to calls inside agents that are used as tools, and `nodeInfo` from events of other invocations. If a node has finished after a pause, the event with
 * which it paused no longer names open calls. Questions get the ids that the nodes gave them. When a question of a node ended without an answer, returns
 * the text that the user gets instead of a run; otherwise null.
 */
export function prepareWorkflow(context: InvocationContext, continues?: string): string | null {
  const { events } = context.session;
  const seen = withoutInner(events);
  if (seen !== events) events.splice(0, events.length, ...seen);
  const isResumed = !events.some(
    ({ invocationId, customMetadata }) =>
      invocationId === context.invocationId && customMetadata?.duologue !== 'resume',
  );
  const isAnswer = ({ customMetadata }: Event) => customMetadata?.settled !== undefined;
  const paused = isResumed ? (continues ?? events.findLast(isAnswer)?.invocationId) : undefined;
  if (paused) (context as { invocationId: string }).invocationId = paused;
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

/** Replaces the call ids of questions in an event by the ids that the nodes gave them. An answer becomes an event of the user, as ADK expects it. */
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
        // ADK reads the answer from the member `result` of the response.
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

/** Unwraps a stored answer: an answer that is not an object is stored inside one. */
function outputIn(response: Record<string, unknown> = {}, metadata: Event['customMetadata']): unknown {
  return metadata?.wrapped === true ? (response.results ?? response.result ?? null) : response;
}

/**
 * The text for the user when a question of a node ended without an answer, because the node cannot continue then. Null when every question has an
 * answer.
 */
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

/**
 * Whether the newest turn of a workflow stopped before the workflow had its end (`markEnd`), for instance because the process was killed. False when a
 * question of the turn ended without an answer, because the turn ended with it. False also when the application added a text after the turn: then the newest
 * message is that text. Earlier turns, which may still wait, are not read.
 */
export function isStoppedWorkflow(events: readonly Event[]): boolean {
  const begin = events.findLast(({ customMetadata }) => customMetadata?.messageId !== undefined);
  if (begin?.author !== 'user') return false;
  const own = events.filter(({ invocationId }) => invocationId === begin.invocationId);
  const hasEnd = own.some(({ customMetadata }) => customMetadata?.duologue === END);
  return !hasEnd && unansweredIn(own, interruptIds(own)) === null;
}

function ofNoNode({ nodeInfo: _, ...event }: Event): Event {
  return { ...event, longRunningToolIds: [] };
}

/** The events with which nodes paused, of all nodes that have finished after that. */
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

/** Throws for a request for input inside a workflow that is used as a tool, because no answer could continue that workflow. */
export function checkRequestInput({ author, nodeInfo }: Event, rootName: string): void {
  const [first] = nodeInfo?.path?.split(/[.@]/) ?? [];
  if (first === rootName) return;
  throw new Error(
    `The node "${author}" asks for input with RequestInput inside a workflow that is used as a tool, which is not supported. Let the agent that calls the workflow ask instead.`,
  );
}

/** Emits an event that marks a node that finished without an output. Without this event ADK would run the node again when a later node continues. */
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

/** The mark of the event with which the workflow of a run ends (`customMetadata.duologue`). */
const END = 'end';

/** Emits an event that marks the end of the workflow of a run, unless it paused. ADK stores nothing that says so when the workflow has an output. */
export function markEnd({ name: author }: BaseNode, context: NodeContext): void {
  const { interruptIds, nodePath: path, invocationId } = context;
  if (interruptIds.length > 0) return;
  context.emit(createEvent({ author, invocationId, nodeInfo: { path }, customMetadata: { duologue: END } }));
}
