import { type Event, getFunctionCalls, getFunctionResponses, isWorkflow } from '@google/adk';
import { approvalMessageOf, approvalTimeoutOf, isStoppedWorkflow, usageIn } from '../../adk/for-server.ts';
import {
  type DataParts,
  type Message,
  MessageFold,
  OUTCOME_UNKNOWN,
  toolNameOf,
} from '../../protocol/index.ts';
import { hasOutcome } from '../../protocol/tool-call.ts';
import type { Engine } from '../engine.ts';
import { turnFinished } from '../events/call-events.ts';
import { fingerprint, partsOf } from '../files.ts';
import {
  Approvals,
  decisionIn,
  endEvent,
  INTERRUPTION,
  isUndecided,
  LEDGER,
  outputChunk,
  stateOf,
  timeoutOutcome,
  timeoutText,
  unfinishedOutcome,
} from '../ledger/approvals.ts';
import type { History } from '../ledger/history.ts';
import { isStreaming, keepText, missedOutputs, reconcile } from '../ledger/history.ts';
import { toolOf } from '../ledger/inner-runs.ts';
import type { SessionLog } from '../log/log.ts';
import { messagesIn, messagesToStore, restOf } from '../log/take-over.ts';
import { sentLength } from '../output/heard-text.ts';
import { textOf } from '../output/output.ts';
import { recentMessages } from '../store/rules.ts';
import type { AcceptedRequest, CallRecord, OwnedKey } from '../store/store.ts';
import type { MessageRequest, Recovered } from './state/inputs.ts';

/** The session to recover, with the server's engine and the agent's history. */
export interface RecoverySource {
  key: OwnedKey;
  engine: Engine;
  history: History;
}

/** A recovered session: waiting calls are open again, and work that an earlier process did not finish has ended. */
export interface RecoveredSession {
  recovered: Recovered;
  /** Whether the session has no stored message. */
  isNew: boolean;
  /** The requests that were accepted last. */
  requests: AcceptedRequest[];
  /** The stored messages of the message queue. */
  queued: Message[];
  /**
   * The message that was being spoken when an earlier process died, and how many characters of its text were sent as sound. Null when no message was
   * being spoken, or when all of its text was sent.
   */
  unspoken: DataParts['heard'] | null;
}

/** The result of the recovery of a session that was just created. */
function emptySession(): RecoveredSession {
  return {
    recovered: { calls: [], messages: [], newest: null, userMessages: [], unanswered: null, queue: [] },
    isNew: true,
    requests: [],
    queued: [],
    unspoken: null,
  };
}

/**
 * Recovers a session from the store and the log. If the log of an earlier owner still exists, both are brought in line: the store gets the text that
 * only the log has, and the log gets the end of every message that was started, so that a client that resumes misses nothing. A log that contradicts
 * the store is replaced. Then every client starts from the stored messages. `isEmpty`: the session was just created.
 */
export async function recoverSession(
  source: RecoverySource,
  isEmpty: boolean,
): Promise<{ session: RecoveredSession; log: SessionLog }> {
  const { key, engine } = source;
  const { store, logs, logger } = engine;
  const log = await logs.open(key);
  try {
    if (log.chunks.last === 0) {
      const session = isEmpty ? emptySession() : await recover(source);
      if (session.unspoken) await cutUnspoken(source, session.unspoken);
      return { session, log };
    }
    const named = messagesIn(log.chunks);
    const before = await recentMessages(store, key, named);
    for (const message of messagesToStore(log.chunks, before.messages)) {
      await store.putMessage(key, message);
    }
    const session = await recover(source);
    const { calls, queue } = session.recovered;
    const open = new Set(calls.map(({ record }) => record.messageId));
    const awaited = new Set(queue.flatMap(({ answerId }) => answerId ?? []));
    const stored = await recentMessages(store, key, named);
    const rest = restOf(log.chunks, stored.messages, { open, awaited });
    // The cut (`data-heard`) follows the end of the message. The cut makes clients remove text that they already have.
    if (session.unspoken) {
      await cutUnspoken(source, session.unspoken);
      rest?.push({ type: 'data-heard', data: session.unspoken, transient: true });
    }
    if (!rest) {
      logger.warn(
        'the log of a session does not match its stored messages: clients get the messages again from the store',
        { session: key.id },
      );
      return { session, log: logs.replace(log) };
    }
    for (const chunk of rest) log.chunks.append(chunk);
    return { session, log };
  } catch (error) {
    log.close();
    throw error;
  }
}

/** Recovers a session from the store. */
async function recover(source: RecoverySource): Promise<RecoveredSession> {
  const { key, engine, history } = source;
  const { store } = engine;
  const open = await endInterruptedCalls(source, await store.openCalls(key));
  const shown = open.map(({ messageId }) => messageId);
  const { messages } = await recentMessages(store, key, shown);
  await reconcile(store, key, messages, await history.load());
  const unspoken = await endCutOff(source, open, messages);
  if (messages.at(-1)?.metadata?.interrupted) await keepText(history, engine.rootAgent.name, messages);
  const byId = new Map(messages.map((message) => [message.id, message]));
  const owners = new Map<string, Message>();
  const calls: Recovered['calls'] = [];
  for (const record of open) {
    const owner = byId.get(record.messageId) ?? { id: record.messageId, role: 'assistant', parts: [] };
    owners.set(owner.id, owner);
    const view = viewOf(record, owner);
    calls.push({ record, ...view, ...(view.state === 'queued' ? await requestByTool(source, record) : {}) });
  }
  const userMessages = messages
    .filter(({ role }) => role === 'user')
    .map(({ id, parts }) => ({ id, fingerprint: fingerprint(parts) }));
  const last = messages.at(-1);
  const requests = await store.acceptedRequests(key);
  const asked = last?.role === 'user' ? last : null;
  const { unanswered, queue } = await unansweredMessages(source, { asked, requests, byId, open });
  return {
    recovered: {
      calls,
      messages: [...owners.values()],
      newest: last?.role === 'assistant' ? last.id : null,
      userMessages,
      unanswered: unanswered?.id ?? null,
      queue: queue.map(({ request }) => request),
    },
    isNew: messages.length === 0,
    requests,
    queued: queue.map(({ message }) => message),
    unspoken,
  };
}

/** Cuts the text of a message, in the store and in the agent's history, to the text that was sent as sound. */
async function cutUnspoken(
  { key, engine, history }: RecoverySource,
  heard: DataParts['heard'],
): Promise<void> {
  const message = await engine.store.loadMessage(key, heard.messageId);
  if (message) await history.cutMessage(engine.store, message, heard.length);
}

/**
 * Finds the user messages that the agent has not answered. `unanswered`: the newest stored message, if it is one of them. `queue`: the messages to
 * answer now, first `unanswered`, if its request was accepted, and then the messages of the message queue.
 */
async function unansweredMessages(
  { key, engine }: RecoverySource,
  stored: {
    /** The newest message, if it is a user message; otherwise null. */
    asked: Message | null;
    requests: AcceptedRequest[];
    byId: ReadonlyMap<string, Message>;
    open: readonly CallRecord[];
  },
): Promise<{ unanswered: Message | null; queue: { message: Message; request: MessageRequest }[] }> {
  const { store } = engine;
  const { asked, requests, byId, open } = stored;
  const waiting = await store.waitingMessages(key);
  const rest = waiting.filter(({ message }) => !byId.has(message.id));
  /** The id of the answer to the newest request whose answer is not stored and whose message is not queued; null when there is no such request. */
  const lastUnanswered = async (): Promise<string | null> => {
    for (const { messageId } of requests.toReversed()) {
      const isKnown = messageId === null || byId.has(messageId);
      if (isKnown || rest.some(({ answerId }) => answerId === messageId)) continue;
      if ((await store.loadMessage(key, messageId)) === null) return messageId;
    }
    return null;
  };
  const promised = asked && (await lastUnanswered());
  const first = waiting.find(({ message }) => message.id === asked?.id);
  const answer = first?.answerId ?? promised;
  // A call that waits shows that the agent has started to answer, although the message that shows the call is not stored yet.
  const isAnswered = open.some(
    ({ messageId }) => !byId.has(messageId) && (answer === null || messageId === answer),
  );
  const unanswered = isAnswered ? null : asked;
  // Start the turn again only if the request of the message was acknowledged. A client without an acknowledgement sends its message again by itself.
  const isFirst = unanswered !== null && (first !== undefined || promised !== null);
  const all = isFirst ? [{ message: unanswered, answerId: answer }, ...rest] : rest;
  const queue = await Promise.all(
    all.map(async ({ message, answerId }, index) => {
      const request: MessageRequest = {
        kind: 'message',
        wire: 'bidi',
        // An earlier process accepted the request. So it has no connection here, and a negative id.
        request: { id: -1 - index, name: undefined, connection: null },
        id: message.id,
        parts: await partsOf(message, store, key),
        isStored: true,
        ...(answerId === null ? {} : { answerId }),
      };
      return { message, request };
    }),
  );
  return { unanswered, queue };
}

/**
 * The time limit and the text of the approval request of a queued call, from the definition of its tool in this process. No deadline is stored for
 * such a call, because its time starts when the request is shown. If a toolset fails to load now, the tool is unknown, and the server's default time
 * limit applies.
 */
async function requestByTool(
  source: RecoverySource,
  call: CallRecord,
): Promise<Pick<Recovered['calls'][number], 'approvalTimeoutMs' | 'approvalMessage'>> {
  const tool = await toolOf(source, call).catch(() => undefined);
  return {
    approvalTimeoutMs: approvalTimeoutOf(tool),
    approvalMessage: approvalMessageOf(tool, call.args),
  };
}

/** The state of a stored call, and what its message shows of it. An approval request that the message does not show was never sent. */
function viewOf(record: CallRecord, owner: Message): Omit<Recovered['calls'][number], 'record'> {
  const { id, approvalId } = record;
  const parts = owner.parts.filter((part) => 'toolCallId' in part);
  const own = parts.find((part) => part.toolCallId === id);
  const confirmation = parts.find((part) => part.toolCallId === approvalId);
  const isShown =
    confirmation !== undefined || (own !== undefined && (approvalId === null || 'approval' in own));
  return {
    state: stateOf(record, isShown),
    isAnnounced: own !== undefined,
    isConfirming: confirmation !== undefined && 'state' in confirmation && !hasOutcome(confirmation),
  };
}

/**
 * Adds stored decisions to the messages that do not show them yet, and ends the calls that cannot continue. A tool that was running on the server gets the
 * outcome "unknown" and does not run again; an agent that is used as a tool continues instead. Returns the calls that stay open.
 */
async function endInterruptedCalls(source: RecoverySource, calls: CallRecord[]): Promise<CallRecord[]> {
  const { key, engine, history } = source;
  const { store, options } = engine;
  const messages = new Map<string, Message | null>();
  const open: CallRecord[] = [];
  for (const found of calls) {
    const call = await restarted(source, await expireIfLate(source, found));
    const message = messages.get(call.messageId) ?? (await store.loadMessage(key, call.messageId));
    messages.set(call.messageId, message);
    const fold = message && new MessageFold(message);
    const decided = decisionIn(call);
    if (decided !== null) fold?.decide(call.id, decided, call.reason ?? undefined);
    const within = call.agents?.within;
    const isOrphan = within != null && !open.some(({ id }) => id === within);
    const outcome = isOrphan
      ? INTERRUPTION
      : (unfinishedOutcome(call) ?? (isLate(call, engine) ? timeoutOutcome(call) : null));
    if (outcome) {
      await history.append(endEvent(call, outcome));
      for (const id of [call.approvalId, call.id]) {
        if (id !== null && fold?.isOpen(id)) fold.push(outputChunk(id, outcome, options.denials));
      }
    } else open.push(call);
    if (message && (decided !== null || outcome)) await store.putMessage(key, message);
  }
  return open;
}

/**
 * If the process died while an agent that is used as a tool ran, makes the call of that agent ready to run again. The agent then continues from its
 * stored events.
 */
async function restarted({ key, engine }: RecoverySource, call: CallRecord): Promise<CallRecord> {
  if (!call.agents?.isAgent || call.status !== 'running') return call;
  return (await engine.store.moveCall(key, { id: call.id, ...LEDGER.restart }, null)) ?? call;
}

function isLate({ expiresAt }: CallRecord, { clock }: Engine): boolean {
  return expiresAt !== null && expiresAt <= clock.now();
}

/** Expires an approval request or question that timed out, unless the user decided or answered before. Returns the stored call. */
async function expireIfLate({ key, engine }: RecoverySource, call: CallRecord): Promise<CallRecord> {
  const { store } = engine;
  if (!isUndecided(call) || !isLate(call, engine)) return call;
  const approvals = new Approvals(engine, key);
  const expired = await approvals.expire(call, timeoutText(call));
  return expired ?? (await store.findCall(key, { id: call.id })) ?? call;
}

/**
 * Ends each message that a process was writing when it died: calls that do not wait for an answer get an error, and the message is marked as
 * interrupted, unless it has a call that waits. If the last message was being spoken, and not all of its text was sent as sound, returns how much
 * was sent.
 */
async function endCutOff(
  { key, engine, history }: RecoverySource,
  open: readonly CallRecord[],
  messages: readonly Message[],
): Promise<DataParts['heard'] | null> {
  let unspoken: DataParts['heard'] | null = null;
  const events = (await history.load()).events;
  const waiting = new Map(open.map((call) => [call.id, call]));
  for (const message of messages) {
    const isLast = message === messages.at(-1);
    const wasSpoken = isLast && isLeftSpeaking(message, open);
    if (message.role !== 'assistant' || !isCutOff(message, open, isLast ? events : [], engine)) continue;
    for (const part of message.parts) if (isStreaming(part)) part.state = 'done';
    await history.closeDangling(OUTCOME_UNKNOWN, waiting);
    const fold = new MessageFold(message);
    for (const chunk of missedOutputs(message, await history.load(), waiting)) fold.push(chunk);
    // A message that waits for an answer continues when the answer arrives.
    const isOver = !open.some(({ messageId }) => messageId === message.id);
    if (isOver) {
      const usage = message.metadata?.usage ?? (isLast ? usageIn(eventsOfTurn(events)) : null);
      const end = { interrupted: true, cutOff: true, ...(usage && { usage }) };
      fold.push({ type: 'message-metadata', messageMetadata: end });
    }
    const event = isOver ? turnFinished(engine.events, key, message) : null;
    await engine.store.putMessage(key, message, undefined, event?.outbox);
    event?.happened();
    const length = wasSpoken ? sentLength(message, messages) : Number.POSITIVE_INFINITY;
    if (length < textOf(message).length) unspoken = { messageId: message.id, length };
  }
  return unspoken;
}

/** The events after the last user message. */
function eventsOfTurn(events: readonly Event[]): readonly Event[] {
  const isUserMessage = ({ content }: Event) =>
    content?.role === 'user' && content.parts?.some((part) => part.text) === true;
  return events.slice(events.findLastIndex(isUserMessage) + 1);
}

/** Whether a message was being written when its process died. `events`: the history if the message is the last one, otherwise empty. */
function isCutOff(
  message: Message,
  open: readonly CallRecord[],
  events: readonly Event[],
  { rootAgent }: Engine,
): boolean {
  if (message.parts.some(isStreaming)) return true;
  const isWaiting = (id: string) => open.some((call) => call.id === id || call.approvalId === id);
  const isLeftOpen = message.parts.some(
    (part) =>
      toolNameOf(part) !== null && 'toolCallId' in part && !hasOutcome(part) && !isWaiting(part.toolCallId),
  );
  if (isLeftOpen) return true;
  if (isLeftSpeaking(message, open)) return true;
  // If the last event has calls or tool responses, the model has written nothing after them. But a message that waits for a decision is not cut off,
  // because it continues with the decision.
  const last = events.findLast((event) => event.content?.parts?.length);
  const isMidway =
    last !== undefined && getFunctionCalls(last).length + getFunctionResponses(last).length > 0;
  const hasOpen = open.some(({ messageId }) => messageId === message.id);
  if (hasOpen) return false;
  const { usage, interrupted, failed } = message.metadata ?? {};
  if (isMidway && usage === undefined) return true;
  if (interrupted || failed) return false;
  // A response that paused over SSE has stored its usage, although the message was to continue.
  return isWorkflow(rootAgent) ? isStoppedWorkflow(events) : isAnswerLast(message, events.at(-1));
}

/** Whether a message and the history end with the output of a call that waited: the agent had to continue with it, and wrote nothing. */
function isAnswerLast({ parts }: Message, last: Event | undefined): boolean {
  if (last?.customMetadata?.settled !== 'output' || last.actions?.skipSummarization) return false;
  const part = parts.at(-1);
  return (
    part !== undefined &&
    'toolCallId' in part &&
    getFunctionResponses(last).some(({ id }) => id === part.toolCallId)
  );
}

/** Whether a message was being spoken when its process died: it has sound and no end. Its text may be complete. */
function isLeftSpeaking({ id, metadata }: Message, open: readonly CallRecord[]): boolean {
  const hasEnd = metadata?.usage !== undefined || metadata?.interrupted === true;
  return metadata?.audio !== undefined && !hasEnd && !open.some(({ messageId }) => messageId === id);
}

/** The ids by which clients know a recovered call: the id of the call if its message shows the call, and the id of its confirmation while that is open. */
export function announcedBy({ record, isAnnounced, isConfirming }: Recovered['calls'][number]): string[] {
  const { id, approvalId } = record;
  return [...(isAnnounced ? [id] : []), ...(isConfirming && approvalId !== null ? [approvalId] : [])];
}
