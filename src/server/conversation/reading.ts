import { type Chunk, formatChunkId, type Message } from '../../protocol/index.ts';
import { unfoldDecided } from '../../protocol/unfold.ts';
import type { Listeners } from '../clients/listeners.ts';
import type { Requests } from '../clients/requests.ts';
import type { Engine } from '../engine.ts';
import type { ShownLog } from '../log/log.ts';
import { decidedIn, type Output } from '../output/output.ts';
import {
  type Feed,
  type Joined,
  type Listener,
  type MessagePage,
  PAGE,
  type Place,
  type Reader,
  type Reset,
  type SseResponse,
} from '../registry/session.ts';
import { recentMessages } from '../store/rules.ts';
import type { PageRequest, SessionKey } from '../store/store.ts';
import type { EffectRunner } from './effect-runner.ts';
import type { ConversationState } from './state/conversation-state.ts';

/** The objects that `Reading` gets from its conversation. */
export interface ReadingContext {
  key: SessionKey;
  engine: Engine;
  output: Output;
  state: ConversationState;
  runner: EffectRunner;
  requests: Requests;
  listeners: Listeners;
}

/** The feed of one conversation for the readers of its log. */
class OutputFeed implements Feed {
  readonly log: ShownLog;
  private readonly output: Output;
  private readonly isRunning: () => boolean;

  constructor(output: Output, isRunning: () => boolean) {
    this.log = output.shown;
    this.output = output;
    this.isRunning = isRunning;
  }

  get isAtRest(): boolean {
    return !this.isRunning() && this.log.last === this.output.log.last;
  }

  onRest(callback: () => void): () => void {
    return this.output.onRest(callback);
  }

  attach(reader: Reader): () => void {
    return this.output.readers.attach(reader);
  }

  readerMoved(): void {
    this.output.readers.moved();
  }
}

/** Serves the reads of clients: the output of a conversation from a position on, the rest of a response, stored messages. */
export class Reading {
  readonly feed: Feed;
  private readonly context: ReadingContext;
  /** The number of the last log entry that a client has confirmed with `confirm`. */
  private confirmed = 0;

  constructor(context: ReadingContext) {
    this.context = context;
    this.feed = new OutputFeed(context.output, () => this.isRunning);
  }

  private get isRunning(): boolean {
    const { state, runner } = this.context;
    return state.isBusy || runner.isWorking;
  }

  /** Adds a listener. Returns the position from which it reads the log, and the chunks that it gets before that. */
  async join(listener: Listener, at: Place): Promise<Joined> {
    const { output, runner, listeners, requests } = this.context;
    requests.setNewest(null);
    await listeners.join(listener);
    const isLost = at.last !== null && output.log.placeOf(at.last) === null;
    const joined = isLost
      ? await runner.read(async () => this.joinedAt(listener, at, await this.newestPage()))
      : this.joinedAt(listener, at, null);
    // Now that a client listens, the state continues the calls that another run or another process left open.
    if (listeners.has(listener)) runner.apply({ type: 'joined' });
    return joined;
  }

  /** The newest page of stored messages, with all messages that are being written or wait for an answer. */
  private async newestPage(): Promise<Reset> {
    const { key, engine, output } = this.context;
    const { messages, older } = await recentMessages(engine.store, key, output.inProgress, PAGE);
    return { messages, ...(older !== null && { older }) };
  }

  /** Returns what a listener that joins now gets. `stored`: the newest page of messages, for a client that cannot continue from its position. */
  private joinedAt(listener: Listener, { last, sound }: Place, stored: Reset | null): Joined {
    const { engine, state, listeners, requests } = this.context;
    return {
      feed: this.feed,
      ...this.startOf(last, stored),
      sounds: listeners.soundsFor(listener, sound),
      info: {
        received: requests.list.map(({ requestId, messageId }) => ({
          requestId,
          ...(messageId === null ? {} : { messageId }),
        })),
        open: state.waitingAnswers,
        running: state.running,
        model: engine.capabilities(),
        floor: listeners.holder,
        attachments: engine.attachments(),
      },
    };
  }

  /** Returns where in the log a client that has every chunk up to `last` continues, and what it gets before the chunks of the log. */
  private startOf(
    last: string | null,
    stored: Reset | null,
  ): Pick<Joined, 'from' | 'resumed' | 'newest' | 'reset' | 'opening' | 'omitted'> {
    const { output, state } = this.context;
    const { log } = output;
    const { current } = state;
    const place = last === null ? null : log.placeOf(last);
    const resumed = place !== null;
    const start = current === null ? null : output.startOf(current);
    return {
      from: place ?? (start === null || stored ? log.last : start - 1),
      resumed,
      newest: formatChunkId({ epoch: log.epoch, seq: log.last }),
      // Replace the stored draft of the message in progress by its current content. The client gets the chunks after that from the log.
      reset: stored && { ...stored, messages: output.asNow(stored.messages) },
      // The next chunks may belong to a message whose `start` this client does not get from the log, so the message is opened here.
      opening: stored || (!resumed && start === null) ? this.openingOf() : [],
      omitted: resumed || stored || current === null ? [] : this.decidedIn(current),
    };
  }

  /** The chunks that open the message in progress again, with the text of its open blocks so far. */
  private openingOf(): Chunk[] {
    const { message } = this.context.output;
    const start = message ? [{ type: 'start' as const, messageId: message.id }] : [];
    return [...start, ...this.context.output.openBlocks()];
  }

  /**
   * The approval ids of the decided approval requests of a message. A client that reads the message from its beginning must not get these requests
   * again: not every client gets the chunk with the decision (`data-decided`), and without it the client would ask the user again.
   */
  private decidedIn(messageId: string): string[] {
    return decidedIn(this.context.output.fold(messageId)?.message ?? null);
  }

  /** The rest of the newest response, after the last chunk that the client has; null when there is nothing to resume. */
  resume(last: string | null): SseResponse | null {
    const { feed } = this;
    const { output, state } = this.context;
    const { log } = output;
    const current = this.isRunning ? state.current : null;
    const place = last === null ? null : log.placeOf(last);
    if (place !== null) {
      // A running response ends at the next end mark that is appended to the log. A response that is over ends at the last end mark in the log.
      if (current !== null) return { feed, from: place, endsAfter: log.last, endsAtRest: true };
      const isLast = place === log.last || (place === log.last - 1 && log.at(log.last)?.chunk === null);
      // An owner that died while the turn was waiting has appended no end mark. Then the response ends because the agent is at rest.
      const endsAtRest = log.at(log.last)?.chunk !== null;
      return isLast ? null : { feed, from: place, endsAfter: log.last - 1, endsAtRest };
    }
    return current === null ? null : this.inProgress(current);
  }

  /** Records that a client, which reads with `replay`, has every chunk up to the chunk with the id `last`. */
  confirm(last: string): void {
    const place = this.context.output.log.placeOf(last);
    if (place !== null && place > this.confirmed) this.confirmed = place;
  }

  /**
   * The newest response, running or over, from the first chunk of its message on. Null when there is none, or when a newer user message has no answer
   * yet. Without `isRequested` also null when a client has confirmed all of the response.
   */
  async replay(isRequested = false): Promise<SseResponse | null> {
    const { state, runner, output } = this.context;
    // A request that is starting has no chunk yet, also while its message is being stored, and the last chunks of a response may wait for the store. Wait
    // for both.
    const hasBegun = (id: string) => output.fold(id) !== undefined || output.startOf(id) !== null;
    const isBetween = () =>
      state.isBusy ? state.current === null || !hasBegun(state.current) : state.isStarting;
    if (isBetween() || !state.isBusy) await runner.untilIdle(isBetween);
    const { log } = output;
    const { feed } = this;
    const whole = { feed, endsAtRest: true, hasDecisions: true };
    const current = state.isBusy ? state.current : null;
    const start = current === null ? null : output.startOf(current);
    if (start !== null) return { from: start - 1, endsAfter: log.last, ...whole };
    if (!isRequested && this.isConfirmed()) return null;
    const newest = this.newestIn(log);
    if (newest === null) return null;
    const begin = newest === undefined ? null : output.startOf(newest);
    if (begin !== null) return { from: begin - 1, endsAfter: this.lastEnd() - 1, ...whole };
    const message = newest === undefined ? await this.newestStored() : await output.load(newest);
    return message && { feed, from: log.last, storedChunks: unfoldDecided(message) };
  }

  /** Whether a client has confirmed every chunk in the log that a replay would send. */
  private isConfirmed(): boolean {
    const { log } = this.context.output;
    if (this.confirmed === 0) return false;
    for (let seq = log.last; seq > this.confirmed; seq--) if (!isSilent(log.at(seq)?.chunk)) return false;
    return true;
  }

  /** The id of the newest assistant message in the log. Null when a user message without an answer is newer; undefined when the log has neither. */
  private newestIn(log: Output['log']): string | null | undefined {
    for (let seq = log.last; seq >= log.first; seq--) {
      const chunk = log.at(seq)?.chunk;
      if (chunk?.type === 'start') return chunk.messageId;
      if (chunk?.type === 'data-message' || chunk?.type === 'data-rewind') return null;
    }
    return undefined;
  }

  /** The number of the last end mark, if only silent entries (`isSilent`) follow it; otherwise the number of the next entry, which is not in the log yet. */
  private lastEnd(): number {
    const { log } = this.context.output;
    for (let seq = log.last; seq >= log.first; seq--) {
      const chunk = log.at(seq)?.chunk;
      if (chunk === null) return seq;
      if (!isSilent(chunk)) break;
    }
    return log.last + 1;
  }

  /** The newest stored message, if it is an assistant message; otherwise null. */
  private async newestStored(): Promise<Message | null> {
    const { key, engine } = this.context;
    const page = await engine.store.loadPage(key, { count: 1, bytes: 0 });
    const message = page?.messages.at(-1);
    return message?.role === 'assistant' ? message : null;
  }

  /** The whole response of a message, if the agent is writing it and its `start` is still in the log; otherwise null. */
  responseIn(messageId: string): SseResponse | null {
    return this.isRunning && messageId === this.context.state.current ? this.inProgress(messageId) : null;
  }

  private inProgress(messageId: string): SseResponse | null {
    const { feed } = this;
    const { output } = this.context;
    const start = output.startOf(messageId);
    if (start === null) return null;
    const omitted = this.decidedIn(messageId);
    return { feed, from: start - 1, endsAfter: output.log.last, omitted, endsAtRest: true };
  }

  /** A page of stored messages, without the parts that only drafts have. Null when the message before which the page should end does not exist. */
  async page(request: PageRequest): Promise<MessagePage | null> {
    const { key, engine, output } = this.context;
    // A turn that ends during the read may store the end of its message after the store has read the page, so it counts as running.
    const wasRunning = this.isRunning;
    const page = await engine.store.loadPage(key, request);
    if (!page) return null;
    const older = page.hasOlder ? (page.messages[0]?.id ?? null) : null;
    return { messages: output.withoutDrafts(page.messages), older, isRunning: wasRunning || this.isRunning };
  }
}

/** Whether a log entry shows the user nothing: an end mark, the start or end of a step, or transient data. Also true when there is no entry. */
function isSilent(chunk: Chunk | null | undefined): boolean {
  if (chunk == null || chunk.type === 'start-step' || chunk.type === 'finish-step') return true;
  return 'transient' in chunk && chunk.transient === true;
}
