import { createEvent } from '@google/adk';
import { exhaustive } from '../../protocol/exhaustive.ts';
import type { Answer, Chunk, Message } from '../../protocol/index.ts';
import type { Engine } from '../engine.ts';
import { externalise, storeMessage } from '../files.ts';
import { type Approvals, LEDGER, type Verdict } from '../ledger/approvals.ts';
import { type History, keepWords, missedOutputs, wasCut } from '../ledger/history.ts';
import { cutText, heardLength, type Output, textOf } from '../output/output.ts';
import { recentMessages } from '../store/rules.ts';
import type { AcceptedRequest, CallMove, CallRecord, OwnedKey } from '../store/store.ts';
import type { Write } from './machine/effects.ts';
import type { DecidedBefore, WriteResults } from './machine/inputs.ts';

/** What writing needs from around it. */
export interface WritesContext {
  key: OwnedKey;
  engine: Engine;
  output: Output;
  history: History;
  approvals: Approvals;
  /** Whether nothing was said in the session yet. */
  isNew: boolean;
  /** The messages that wait, as they are stored. */
  waiting: Message[];
  log: (level: 'warn', text: string, fields: Record<string, unknown>) => void;
}

/** Ids longer than this are not ours. */
const MAX_LOGGED_ID = 256;

/** Performs what the machine wants written, one thing after the other. */
export class Writes {
  private readonly context: WritesContext;
  private isNew: boolean;
  private lastKept: Message | null = null;
  /** Messages that wait: their files are stored, so they are kept as they are. */
  private readonly waiting: Map<string, Message>;

  constructor(context: WritesContext) {
    this.context = context;
    this.isNew = context.isNew;
    this.waiting = new Map(context.waiting.map((message) => [message.id, message]));
  }

  /** Writes in order; rejects at the first that fails. */
  async all(writes: readonly Write[]): Promise<WriteResults> {
    const results: WriteResults = {};
    for (const write of writes) await this.one(write, results);
    return results;
  }

  /** The message of the person that was stored last, if it is that one. */
  kept(messageId: string): Message | null {
    return this.lastKept?.id === messageId ? this.lastKept : null;
  }

  /** The ids of the newest messages that are stored. */
  private async newestIds(): Promise<ReadonlySet<string>> {
    const { key, engine } = this.context;
    const { messages } = await recentMessages(engine.store, key);
    return new Set(messages.map(({ id }) => id));
  }

  /** Moves the images of a message to where they are stored. */
  keepImages(message: Message): Promise<void> {
    const { key, engine } = this.context;
    return externalise(message, engine.store, key);
  }

  private async one(write: Write, results: WriteResults): Promise<void> {
    const { key, engine, output, history, approvals } = this.context;
    const { store } = engine;
    switch (write.do) {
      case 'keep':
        return this.keep(write);
      case 'wait':
        return this.wait(write);
      case 'unkeep':
        await store.truncateMessages(key, write.messageId);
        return;
      case 'rewind':
        output.dropDraft();
        // One that nothing was said to stays where it is: it is the last.
        if (write.again || (await store.truncateMessages(key, write.messageId)))
          await history.rewindTo(write.messageId, write.again, () => this.newestIds());
        return;
      case 'append':
        return write.seen
          ? history.appendChange(write.event, write.seen, write.accepted)
          : history.append(write.event, write.accepted);
      case 'issue':
        return store.issueCalls(key, [write.call]);
      case 'show':
      case 'park':
        await store.moveCall(key, deadlineOf(write), null);
        return;
      case 'take':
        results.isTaken = (await this.take(write.call)) !== null;
        return;
      case 'expire':
        results.decided = await this.expire(write);
        return;
      case 'save':
        return output.save(write.messageId);
      case 'decide':
        return this.decideAll(write, results);
      case 'accept':
        return store.acceptRequest(key, write.accepted);
      case 'cut':
        results.length = await this.cut(write.messageId, write.share);
        return;
      case 'withdraw':
        await approvals.signedOut(write.call, 'sign-out-approved');
        return;
      case 'find-unfinished':
        results.unfinished = await this.unfinished(write.messageId);
        return;
      case 'find-cut':
        results.cut = await this.findCut(write.messageId);
        return;
      case 'close-dangling':
        results.missed = await this.closeDangling(write);
        return;
      case 'keep-words':
        return this.keepWords(write.messageId, write.text);
      default:
        return exhaustive(write);
    }
  }

  /** Keeps a message of the person; the first one names the session. */
  private async keep({ id, parts, metadata, accepted }: Extract<Write, { do: 'keep' }>): Promise<void> {
    const { key, engine } = this.context;
    const { store, clock } = engine;
    const said = { id, parts, metadata, createdAt: clock.now() };
    const message = this.waiting.get(id) ?? (await storeMessage(said, store, key));
    await store.putMessage(key, message, accepted);
    this.waiting.delete(id);
    this.lastKept = message;
    if (!this.isNew) return;
    this.isNew = false;
    const text = parts
      .find((part) => part.type === 'text')
      ?.text.trim()
      .replace(/\s+/g, ' ');
    if (text) await store.renameSession(key, text.length > 60 ? `${text.slice(0, 59)}…` : text);
  }

  /** Stores a message that waits, and its files. */
  private async wait(write: Extract<Write, { do: 'wait' }>): Promise<void> {
    const { id, parts, metadata, answerId, accepted } = write;
    const { key, engine } = this.context;
    const { store, clock } = engine;
    const message = await storeMessage({ id, parts, metadata, createdAt: clock.now() }, store, key);
    await store.addWaiting(key, { message, answerId: answerId ?? null }, accepted);
    this.waiting.set(id, message);
  }

  /** Applies decisions in order; the request that they came in is taken with the last of them. */
  private async decideAll(write: Extract<Write, { do: 'decide' }>, results: WriteResults): Promise<void> {
    const { key, engine } = this.context;
    const { decisions, accepted } = write;
    const verdicts: Verdict[] = [];
    for (const decision of decisions) {
      const isLast = decision === decisions.at(-1);
      verdicts.push(await this.decide(decision, write, isLast ? accepted : undefined));
    }
    results.verdicts = verdicts;
    if (!accepted || !verdicts.some(({ kind }) => kind === 'counts')) return;
    const last = verdicts.at(-1);
    // One that was decided so before, or that does not count, wrote nothing that the request could be taken with.
    if (last?.kind !== 'counts' || last.isRepeated) await engine.store.acceptRequest(key, accepted);
    results.isAccepted = true;
  }

  private async decide(
    decision: Extract<Answer, { kind: 'decision' }>,
    { shown, isSignedIn }: Extract<Write, { do: 'decide' }>,
    accepted: AcceptedRequest | undefined,
  ): Promise<Verdict> {
    const { approvals, log } = this.context;
    const isShown = (call: CallRecord) => shown.has(call.id);
    if (isSignedIn) {
      const verdict = await approvals.decide(decision, isShown, accepted);
      if (verdict.kind === 'refused') {
        const call = decision.toolCallId.slice(0, MAX_LOGGED_ID);
        log('warn', 'an approval was refused', { call, why: verdict.why });
      }
      return verdict;
    }
    const call = await approvals.refuseSignedOut(decision, isShown);
    return call ? { kind: 'ended', call } : { kind: 'ignored' };
  }

  /** Lets a card run out of time; returns how it stands when someone decided it before, wherever the session was then. */
  private async expire({ call, reason }: Extract<Write, { do: 'expire' }>): Promise<DecidedBefore | null> {
    const { key, engine, approvals } = this.context;
    if (await approvals.expire(call, reason)) return null;
    const decided = await engine.store.findCall(key, { id: call.id });
    return decided && { call: decided, by: key.user };
  }

  private take(call: CallRecord): Promise<CallRecord | null> {
    const { key, engine, approvals } = this.context;
    if (call.approvalId !== null)
      return approvals.consume(call, call.runsOn === 'client' ? call.expiresAt : null);
    return engine.store.moveCall(key, { id: call.id, ...LEDGER.take }, null);
  }

  /** The message whose calls are all answered but which the model has not gone on with: its process died in between. */
  private async unfinished(messageId: string | undefined): Promise<Message | null> {
    const { key, engine, history } = this.context;
    const { events } = await history.load();
    const last = events.findLast((event) => event.content?.parts?.length);
    if (!last?.content?.parts?.some((part) => part.functionResponse)) return null;
    const message = (await engine.store.loadPage(key, { count: 1, bytes: 0 }))?.messages.at(-1);
    const isThat = message?.role === 'assistant' && (messageId === undefined || message.id === messageId);
    return isThat ? message : null;
  }

  /** The last message, if it has this id and was cut; otherwise null. Its words are added to the history for the model. */
  private async findCut(messageId: string): Promise<Message | null> {
    const { key, engine, history } = this.context;
    const { messages } = await recentMessages(engine.store, key);
    const last = messages.at(-1);
    if (last?.id !== messageId || !wasCut(last)) return null;
    await keepWords(history, engine.rootAgent.name, messages);
    return last;
  }

  /** Answers every call in the history that nothing answers and that does not wait; returns what the message does not show. */
  private async closeDangling(write: Extract<Write, { do: 'close-dangling' }>): Promise<Chunk[]> {
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

  /** Cuts off the words of a message that were not heard; returns how many characters are left, null when there is none to cut. */
  private async cut(messageId: string, share: number): Promise<number | null> {
    const { key, engine, output, history } = this.context;
    const message = await output.load(messageId);
    const text = message ? textOf(message) : '';
    if (!message || text === '') return null;
    const length = heardLength(text, share);
    cutText(message, length);
    await engine.store.putMessage(key, message);
    await history.cutWords(text.length - length);
    return length;
  }

  /** What was said before an abort or a failure belongs to the history, though ADK does not keep it. */
  private async keepWords(messageId: string, text: string): Promise<void> {
    const { history, engine } = this.context;
    const { events } = await history.load();
    const last = events.findLast((event) => event.content?.parts?.length);
    // Stopped between ADK's keeping the whole text and giving it to us.
    const isKept = last?.content?.parts?.some((part) => part.text?.startsWith(text));
    if (isKept && last?.content?.role === 'model') return;
    await history.append(
      createEvent({
        author: engine.rootAgent.name,
        content: { role: 'model', parts: [{ text }] },
        customMetadata: { messageId },
      }),
    );
  }
}

/** A card gets its deadline, or a tool that was started and is ended from outside. */
function deadlineOf({
  do: step,
  call: { id, expiresAt },
}: Extract<Write, { do: 'show' | 'park' }>): CallMove {
  return { id, ...LEDGER[step], expiresAt };
}
