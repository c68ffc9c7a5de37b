import { type Event, getFunctionCalls, getFunctionResponses } from '@google/adk';
import { usageIn } from '../../adk/for-server.ts';
import {
  APPROVAL_TIMED_OUT,
  type DataParts,
  isSettled,
  type Message,
  MessageFold,
  OUTCOME_UNKNOWN,
  toolNameOf,
} from '../../protocol/index.ts';
import type { Engine } from '../engine.ts';
import { partsOf } from '../files.ts';
import {
  Approvals,
  decisionIn,
  isUndecided,
  lateSettlement,
  leftBehind,
  standingOf,
} from '../ledger/approvals.ts';
import type { History } from '../ledger/history.ts';
import { isStreaming, keepWords, missedOutputs, reconcile } from '../ledger/reconcile.ts';
import { endEvent, outputChunk } from '../ledger/settlement.ts';
import { cutText, sentLength, textOf } from '../output/hearing.ts';
import { recentMessages } from '../store/recent-messages.ts';
import type { AcceptedRequest, CallRecord, OwnedKey } from '../store/store.ts';
import type { Asker } from './machine/effects.ts';
import type { Recovered, Said } from './machine/inputs.ts';
import { fingerprint } from './machine/said-before.ts';

/** What a session is taken up from. */
export interface Remains {
  key: OwnedKey;
  engine: Engine;
  history: History;
}

/** What a process left of a session, brought in order: what waits is open again, what was cut off has an end. */
export interface TakenUp {
  recovered: Recovered;
  /** Whether nothing was said yet. */
  isNew: boolean;
  /** The requests that were accepted last. */
  requests: AcceptedRequest[];
  /** The messages that wait, as they are stored. */
  waiting: Message[];
  /** A message that was cut off while it was spoken, and how many characters of its text were sent as sound. */
  unspoken: DataParts['heard'] | null;
}

/** Whoever said what waits is not here to be told. */
function nobody(): Asker {
  const silent = () => undefined;
  const deaf = { mark: silent, begin: silent, accept: silent, tell: silent, refuse: silent };
  return { name: undefined, connection: null, ...deaf };
}

/** What there is of a session that was just made. */
export function nothing(): TakenUp {
  return {
    recovered: { calls: [], messages: [], said: [], unanswered: null, waiting: [] },
    isNew: true,
    requests: [],
    waiting: [],
    unspoken: null,
  };
}

/** Takes up what the store has of a session. */
export async function recover(remains: Remains): Promise<TakenUp> {
  const { key, engine, history } = remains;
  const { store } = engine;
  const open = await endLeftBehind(remains, await store.openCalls(key));
  const shown = open.map(({ messageId }) => messageId);
  const { messages } = await recentMessages(store, key, shown);
  await reconcile(store, key, messages, await history.load());
  const unspoken = await endCutOff(remains, open, messages);
  if (messages.at(-1)?.metadata?.interrupted) await keepWords(history, engine.rootAgent.name, messages);
  const byId = new Map(messages.map((message) => [message.id, message]));
  const owners = new Map<string, Message>();
  const calls = open.map((record) => {
    const owner = byId.get(record.messageId) ?? { id: record.messageId, role: 'assistant', parts: [] };
    owners.set(owner.id, owner);
    return { record, ...viewOf(record, owner) };
  });
  const said = messages
    .filter(({ role }) => role === 'user')
    .map(({ id, parts }) => ({ id, fingerprint: fingerprint(parts) }));
  const last = messages.at(-1);
  const requests = await store.acceptedRequests(key);
  const asked = last?.role === 'user' ? last : null;
  const { unanswered, waiting } = await stillWaiting(remains, { asked, requests, byId, open });
  return {
    recovered: {
      calls,
      messages: [...owners.values()],
      said,
      unanswered: unanswered?.id ?? null,
      waiting: waiting.map(({ said: one }) => one),
    },
    isNew: messages.length === 0,
    requests,
    waiting: waiting.map(({ message }) => message),
    unspoken,
  };
}

/** Cuts the words of a message that were not sent as sound, in the store and in what the model remembers. */
export async function cutUnspoken(
  { key, engine, history }: Remains,
  heard: DataParts['heard'],
): Promise<void> {
  const message = await engine.store.loadMessage(key, heard.messageId);
  if (!message) return;
  const { length } = textOf(message);
  cutText(message, heard.length);
  await engine.store.putMessage(key, message);
  await history.cutWords(length - heard.length);
}

/** What was accepted and that nothing answers: first the last message, if its process died before anything was said to it. */
async function stillWaiting(
  { key, engine }: Remains,
  stored: {
    /** The person's last message, when it is the last of all. */
    asked: Message | null;
    requests: AcceptedRequest[];
    byId: ReadonlyMap<string, Message>;
    open: readonly CallRecord[];
  },
): Promise<{ unanswered: Message | null; waiting: { message: Message; said: Said }[] }> {
  const { store } = engine;
  const { asked, requests, byId, open } = stored;
  const waiting = await store.waitingMessages(key);
  const rest = waiting.filter(({ message }) => !byId.has(message.id));
  /** The message that is to answer the newest request and of which nothing is stored. */
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
  // A call that waits is an answer, though the message that shows it is not stored yet.
  const isBegun = open.some(
    ({ messageId }) => !byId.has(messageId) && (answer === null || messageId === answer),
  );
  const unanswered = isBegun ? null : asked;
  // One that nobody was told is stored is said again by whoever said it.
  const isFirst = unanswered !== null && (first !== undefined || promised !== null);
  const all = isFirst ? [{ message: unanswered, answerId: answer }, ...rest] : rest;
  const said = await Promise.all(
    all.map(async ({ message, answerId }) => {
      const parts = await partsOf(message, store, key);
      const one: Said = {
        kind: 'message',
        wire: 'bidi',
        asker: nobody(),
        id: message.id,
        parts,
        isStored: true,
      };
      return { message, said: { ...one, ...(answerId === null ? {} : { answerId }) } };
    }),
  );
  return { unanswered, waiting: said };
}

/** Where a stored call stands; a card that the message does not show was not seen by anyone. */
function viewOf(record: CallRecord, owner: Message): Omit<Recovered['calls'][number], 'record'> {
  const { id, approvalId } = record;
  const parts = owner.parts.filter((part) => 'toolCallId' in part);
  const own = parts.find((part) => part.toolCallId === id);
  const confirmation = parts.find((part) => part.toolCallId === approvalId);
  const isShown = confirmation !== undefined || (own !== undefined && 'approval' in own);
  return {
    standing: standingOf(record, isShown),
    isAnnounced: own !== undefined,
    isConfirming: confirmation !== undefined && 'state' in confirmation && !isSettled(confirmation.state),
  };
}

/**
 * Decisions that the messages do not show yet are written on their cards, and calls that were in the middle of something end:
 * a tool that was running on the server has an unknown outcome and is not run again. Returns the calls that stay open.
 */
async function endLeftBehind(remains: Remains, calls: CallRecord[]): Promise<CallRecord[]> {
  const { key, engine, history } = remains;
  const { store, options } = engine;
  const messages = new Map<string, Message | null>();
  const open: CallRecord[] = [];
  for (const found of calls) {
    const call = await expireIfLate(remains, found);
    const message = messages.get(call.messageId) ?? (await store.loadMessage(key, call.messageId));
    messages.set(call.messageId, message);
    const fold = message && new MessageFold(message);
    const decided = decisionIn(call);
    if (decided !== null) fold?.decide(call.id, decided, call.reason ?? undefined);
    const settlement = leftBehind(call) ?? (isLate(call, engine) ? lateSettlement(call) : null);
    if (settlement) {
      await history.append(endEvent(call, settlement));
      for (const id of [call.approvalId, call.id]) {
        if (id !== null && fold?.isOpen(id)) fold.push(outputChunk(id, settlement, options.denials));
      }
    } else open.push(call);
    if (message && (decided !== null || settlement)) await store.putMessage(key, message);
  }
  return open;
}

function isLate({ expiresAt }: CallRecord, { clock }: Engine): boolean {
  return expiresAt !== null && expiresAt <= clock.now();
}

/** A card whose time is up has expired, unless someone decided it before. */
async function expireIfLate({ key, engine }: Remains, call: CallRecord): Promise<CallRecord> {
  const { store } = engine;
  if (!isUndecided(call) || !isLate(call, engine)) return call;
  const approvals = new Approvals(engine, key);
  const expired = await approvals.expire(call, APPROVAL_TIMED_OUT);
  return expired ?? (await store.findCall(key, { id: call.id })) ?? call;
}

/**
 * Ends what a process that died left in the middle: the draft of a message is what was said of it, and is marked as
 * interrupted, as after a stop. Its calls that nobody will answer end too, and the history gets the words that it lacks. Returns how much was sent of the
 * last message, if that was being spoken and has more words.
 */
async function endCutOff(
  { key, engine, history }: Remains,
  open: readonly CallRecord[],
  messages: readonly Message[],
): Promise<DataParts['heard'] | null> {
  let unspoken: DataParts['heard'] | null = null;
  const events = (await history.load()).events;
  const waiting = new Map(open.map((call) => [call.id, call]));
  for (const message of messages) {
    const isLast = message === messages.at(-1);
    const wasSpoken = isLast && isLeftSpeaking(message, open);
    if (message.role !== 'assistant' || !isCutOff(message, open, isLast ? events : [])) continue;
    for (const part of message.parts) if (isStreaming(part)) part.state = 'done';
    await history.closeDangling(OUTCOME_UNKNOWN, waiting);
    const fold = new MessageFold(message);
    for (const chunk of missedOutputs(message, await history.load(), waiting)) fold.push(chunk);
    // One that waits for an answer goes on when that comes.
    const isOver = !open.some(({ messageId }) => messageId === message.id);
    if (isOver) {
      const usage = message.metadata?.usage ?? (isLast ? usageIn(sinceAsked(events)) : null);
      const end = { interrupted: true, cutOff: true, ...(usage && { usage }) };
      fold.push({ type: 'message-metadata', messageMetadata: end });
    }
    await engine.store.putMessage(key, message);
    const length = wasSpoken ? sentLength(message, messages) : Number.POSITIVE_INFINITY;
    if (length < textOf(message).length) unspoken = { messageId: message.id, length };
  }
  return unspoken;
}

/** The events behind what the person said last. */
function sinceAsked(events: readonly Event[]): readonly Event[] {
  return events.slice(events.findLastIndex(({ content }) => isAsking(content)) + 1);
}

function isAsking(content: Event['content']): boolean {
  return content?.role === 'user' && content.parts?.some((part) => part.text) === true;
}

/** Whether a message was being written when its process died. `events`: the history, if it is the last message. */
function isCutOff(message: Message, open: readonly CallRecord[], events: readonly Event[]): boolean {
  if (message.parts.some(isStreaming)) return true;
  const isWaiting = (id: string) => open.some((call) => call.id === id || call.approvalId === id);
  const isLeftOpen = message.parts.some(
    (part) =>
      toolNameOf(part) !== null &&
      'toolCallId' in part &&
      !isSettled(part.state) &&
      !isWaiting(part.toolCallId),
  );
  if (isLeftOpen) return true;
  if (isLeftSpeaking(message, open)) return true;
  // Its tools are done, and nothing was said after them. What ended once, at a card, is gone on with by its answer.
  const last = events.findLast((event) => event.content?.parts?.length);
  const isMidway =
    last !== undefined && getFunctionCalls(last).length + getFunctionResponses(last).length > 0;
  const hasOpen = open.some(({ messageId }) => messageId === message.id);
  return isMidway && message.metadata?.usage === undefined && !hasOpen;
}

/** Whether a message was being spoken when its process died: it has sound and no end, though all of its words may be there. */
function isLeftSpeaking({ id, metadata }: Message, open: readonly CallRecord[]): boolean {
  const hasEnd = metadata?.usage !== undefined || metadata?.interrupted === true;
  return metadata?.audio !== undefined && !hasEnd && !open.some(({ messageId }) => messageId === id);
}
