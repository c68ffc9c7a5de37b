import { createEvent } from '@google/adk';
import { responseEvent, toContent } from '../../adk/for-server.ts';
import { exhaustive } from '../../protocol/exhaustive.ts';
import type { Answer, Chunk, Message } from '../../protocol/index.ts';
import type { Engine } from '../engine.ts';
import { externalise, storeMessage } from '../files.ts';
import { Approvals, endEvent, INTERRUPTION, LEDGER, responseOf, type Verdict } from '../ledger/approvals.ts';
import type { History } from '../ledger/history.ts';
import { keepText, missedOutputs, wasCut } from '../ledger/history.ts';
import { heardLength } from '../output/heard-text.ts';
import type { Output } from '../output/output.ts';
import { textOf } from '../output/output.ts';
import { recentMessages } from '../store/rules.ts';
import type { AcceptedRequest, CallRecord, DecidedBy, OwnedKey } from '../store/store.ts';
import type { Write } from './state/effects.ts';
import type { DecidedBefore, WriteResults } from './state/inputs.ts';

/** The objects and callbacks that `StoreWriter` gets from its conversation. */
export interface StoreWriterContext {
  key: OwnedKey;
  engine: Engine;
  output: Output;
  history: History;
  /** Whether the session has no message yet. */
  isNew: boolean;
  /** The stored messages of the message queue. */
  queued: Message[];
  /** Called when a decision about a call was stored. Not called for a repetition of the same decision. */
  onDecided: (call: CallRecord, by: DecidedBy | undefined) => void;
  /** The fields of every log line. */
  logFields: () => Record<string, unknown>;
}

type WriteOf<Kind extends Write['do']> = Extract<Write, { do: Kind }>;

/** How many characters a log line shows of a call id that a client sent. Ids that the server makes are shorter. */
const MAX_LOGGED_ID = 256;

/** Performs the writes of effects on the store, the agent's history and the ledger, one after the other. */
export class StoreWriter {
  private readonly context: StoreWriterContext;
  private readonly approvals: Approvals;
  private isNew: boolean;
  private lastStored: Message | null = null;
  /** The stored messages of the message queue, by id. Their files are stored too, so they are not stored again when a message starts. */
  private readonly queued: Map<string, Message>;

  constructor(context: StoreWriterContext) {
    this.context = context;
    this.approvals = new Approvals(context.engine, context.key);
    this.isNew = context.isNew;
    this.queued = new Map(context.queued.map((message) => [message.id, message]));
  }

  /** Performs writes in order; rejects with the error of the first write that fails, and performs no further one. */
  async write(writes: readonly Write[]): Promise<WriteResults> {
    let results: WriteResults = {};
    for (const write of writes) results = { ...results, ...(await this.one(write)) };
    return results;
  }

  /** The user message that this process stored last, if it has this id; otherwise null. */
  published(messageId: string): Message | null {
    return this.lastStored?.id === messageId ? this.lastStored : null;
  }

  /** The ids of the newest stored messages. */
  private async newestIds(): Promise<ReadonlySet<string>> {
    const { key, engine } = this.context;
    const { messages } = await recentMessages(engine.store, key);
    return new Set(messages.map(({ id }) => id));
  }

  /** Stores the images of a message as files, and replaces them with references to these files. */
  storeImages(message: Message): Promise<void> {
    const { key, engine } = this.context;
    return externalise(message, engine.store, key);
  }

  private async one(write: Write): Promise<WriteResults | undefined> {
    const { key, engine, output, history } = this.context;
    const { store } = engine;
    switch (write.do) {
      case 'store-message':
        await this.storeUserMessage(write);
        return;
      case 'store-queued':
        await this.storeQueued(write);
        return;
      case 'remove-message':
        await store.truncateMessages(key, write.messageId);
        return;
      case 'rewind':
        output.dropDraft();
        // A message whose turn starts again is the last one and stays stored, so only the history is rewound.
        if (write.restart || (await store.truncateMessages(key, write.messageId)))
          await history.rewindTo(write.messageId, write.restart, () => this.newestIds());
        return;
      case 'append-message': {
        const { messageId, parts } = write;
        const content = toContent(parts);
        await history.append(createEvent({ author: 'user', content, customMetadata: { messageId } }));
        return;
      }
      case 'append-outcome':
        await this.appendOutcome(write);
        return;
      case 'append-interrupted': {
        const { id, toolName: name, agent, invocationId, branch = null } = write.call;
        const response = responseOf(INTERRUPTION);
        await history.append(responseEvent({ agent, invocationId, branch }, [{ id, name, response }]));
        return;
      }
      case 'issue':
        await store.issueCalls(key, [write.call]);
        return;
      case 'show':
      case 'park':
      case 'resume':
        await this.setDeadline(write.do, write.call);
        return;
      case 'take':
        return { isTaken: (await this.take(write)) !== null };
      case 'expire':
        return { decided: await this.expire(write) };
      case 'answer':
      case 'decline':
      case 'refuse':
      case 'ask':
        await this.approvals.record(write.do, write.call, write.reason);
        return;
      case 'save':
        await output.save(write.messageId, output.asked(write.asks));
        return;
      case 'decide':
        return this.decideAll(write);
      case 'accept':
        await store.acceptRequest(key, write.accepted);
        return;
      case 'cut':
        return { length: await this.cut(write.messageId, write.share) };
      case 'withdraw':
        await this.approvals.signedOut(write.call, 'sign-out-approved');
        return;
      case 'find-unfinished':
        return { unfinished: await this.unfinished(write.messageId) };
      case 'find-cut':
        return { cut: await this.findCut(write.messageId) };
      case 'close-dangling':
        return { missed: await this.closeDangling(write) };
      case 'store-text':
        await history.appendText(write, engine.rootAgent.name);
        return;
      default:
        return exhaustive(write);
    }
  }

  /**
   * Stores the status and the deadline of a call: its approval request or question is shown, its long-running tool was started, or the agent that is its tool
   * runs again.
   */
  private async setDeadline(step: 'show' | 'park' | 'resume', { id, expiresAt }: CallRecord): Promise<void> {
    const { key, engine } = this.context;
    await engine.store.moveCall(key, { id, ...LEDGER[step], expiresAt }, null);
  }

  /**
   * Adds the outcome of a call to the history. If the tool changed session state, the write fails when the same state has changed since the tool read
   * it.
   */
  private appendOutcome({ call, outcome, accepted }: WriteOf<'append-outcome'>): Promise<void> {
    const { history } = this.context;
    const event = endEvent(call, outcome);
    const seen = outcome.kind === 'output' ? outcome.session : undefined;
    return seen ? history.appendChange(event, seen, accepted) : history.append(event, accepted);
  }

  /** Stores a user message. The text of the first message becomes the title of the session, shortened to 60 characters. */
  private async storeUserMessage({ id, parts, metadata, accepted }: WriteOf<'store-message'>): Promise<void> {
    const { key, engine, output } = this.context;
    const { store, clock } = engine;
    const sent = { id, parts, metadata, createdAt: clock.now() };
    const message = this.queued.get(id) ?? (await storeMessage(sent, store, key));
    await output.placed();
    await store.putMessage(key, message, accepted);
    this.queued.delete(id);
    this.lastStored = message;
    if (!this.isNew) return;
    this.isNew = false;
    const text = parts
      .find((part) => part.type === 'text')
      ?.text.trim()
      .replace(/\s+/g, ' ');
    if (text) await store.renameSession(key, text.length > 60 ? `${text.slice(0, 59)}…` : text);
  }

  /** Stores a user message in the message queue, with its files. */
  private async storeQueued(write: WriteOf<'store-queued'>): Promise<void> {
    const { id, parts, metadata, answerId, accepted } = write;
    const { key, engine } = this.context;
    const { store, clock } = engine;
    const message = await storeMessage({ id, parts, metadata, createdAt: clock.now() }, store, key);
    await store.addWaiting(key, { message, answerId: answerId ?? null }, accepted);
    this.queued.set(id, message);
  }

  /** Passes each decision to the ledger, in order. The acceptance of their request is stored with the last decision. */
  private async decideAll(write: WriteOf<'decide'>): Promise<WriteResults> {
    const { key, engine } = this.context;
    const { decisions, accepted } = write;
    const verdicts: Verdict[] = [];
    for (const decision of decisions) {
      const isLast = decision === decisions.at(-1);
      verdicts.push(await this.decide(decision, write, isLast ? accepted : undefined));
    }
    if (!accepted || !verdicts.some(({ kind }) => kind === 'counts')) return { verdicts };
    const last = verdicts.at(-1);
    // A last decision that is a repetition or has no effect wrote nothing. So another write stores the acceptance of the request.
    if (last?.kind !== 'counts' || last.isRepeated) await engine.store.acceptRequest(key, accepted);
    return { verdicts, isAccepted: true };
  }

  private async decide(
    decision: Extract<Answer, { kind: 'decision' }>,
    { shown, isSignedIn, by }: WriteOf<'decide'>,
    accepted: AcceptedRequest | undefined,
  ): Promise<Verdict> {
    const { approvals } = this;
    const isShown = (call: CallRecord) => shown.has(call.id);
    if (isSignedIn) {
      const verdict = await approvals.decide(decision, isShown, accepted, by);
      if (verdict.kind === 'counts' && !verdict.isRepeated) this.context.onDecided(verdict.call, by);
      if (verdict.kind === 'refused') {
        const call = decision.toolCallId.slice(0, MAX_LOGGED_ID);
        const { engine, logFields } = this.context;
        engine.logger.warn('a decision was refused: see the field why; the audit log has the call', {
          ...logFields(),
          call,
          why: verdict.why,
        });
      }
      return verdict;
    }
    const call = await approvals.refuseSignedOut(decision, isShown);
    return call ? { kind: 'ended', call } : { kind: 'ignored' };
  }

  /**
   * Expires an approval request or question. Returns null when it expired now, or is not stored; otherwise the stored call, which no longer waited for the
   * user.
   */
  private async expire({ call, reason }: WriteOf<'expire'>): Promise<DecidedBefore | null> {
    const { key, engine } = this.context;
    if (await this.approvals.expire(call, reason)) return null;
    const decided = await engine.store.findCall(key, { id: call.id });
    return decided && { call: decided, by: key.user };
  }

  private take({ call, wasReady }: WriteOf<'take'>): Promise<CallRecord | null> {
    const { key, engine } = this.context;
    if (!wasReady) return this.approvals.consume(call, call.runsOn === 'client' ? call.expiresAt : null);
    return engine.store.moveCall(key, { id: call.id, ...LEDGER.take }, null);
  }

  /**
   * The newest message, if all of its calls are answered but the model has not continued it, because the process died in between. Otherwise null. With a
   * `messageId`, also null when the newest message has another id.
   */
  private async unfinished(messageId: string | undefined): Promise<Message | null> {
    const { key, engine, history } = this.context;
    const { events } = await history.load();
    const last = events.findLast((event) => event.content?.parts?.length);
    if (!last?.content?.parts?.some((part) => part.functionResponse)) return null;
    const message = (await engine.store.loadPage(key, { count: 1, bytes: 0 }))?.messages.at(-1);
    const isThat = message?.role === 'assistant' && (messageId === undefined || message.id === messageId);
    return isThat ? message : null;
  }

  /** The last message, if it has this id and was cut off; otherwise null. If the history lacks text of that message, adds the text to the history. */
  private async findCut(messageId: string): Promise<Message | null> {
    const { key, engine, history } = this.context;
    const { messages } = await recentMessages(engine.store, key);
    const last = messages.at(-1);
    if (last?.id !== messageId || !wasCut(last)) return null;
    await keepText(history, engine.rootAgent.name, messages);
    return last;
  }

  /** Adds an error to the history for every call that has no response and does not wait. Returns the chunks with outcomes that the message lacks. */
  private async closeDangling(write: WriteOf<'close-dangling'>): Promise<Chunk[]> {
    const { output, history } = this.context;
    const { errorText, messageId, waiting } = write;
    const ids = await history.closeDangling(errorText, waiting);
    const fold = messageId === null ? undefined : output.fold(messageId);
    if (!fold) return [];
    const closed = ids
      .filter((id) => fold.isOpen(id))
      .map((toolCallId): Chunk => ({ type: 'tool-output-error', toolCallId, errorText }));
    const missed = missedOutputs(fold.message, await history.load(), new Set([...ids, ...waiting]));
    return [...closed, ...missed];
  }

  /** Cuts the text of a message to the share that was played. Returns the number of characters that are left; null when the message has no text. */
  private async cut(messageId: string, share: number): Promise<number | null> {
    const { engine, output, history } = this.context;
    const message = await output.load(messageId);
    const text = message ? textOf(message) : '';
    if (!message || text === '') return null;
    const length = heardLength(text, share);
    await history.cutMessage(engine.store, message, length);
    return length;
  }
}
