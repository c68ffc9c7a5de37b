import {
  base64Bytes,
  type Chunk,
  type Message,
  MessageFold,
  type ProtocolError,
} from '../../protocol/index.ts';
import type { Clock } from '../clock.ts';
import { callAsked, turnFinished } from '../events/call-events.ts';
import type { EventSource, PreparedEvent } from '../events/event-hub.ts';
import type { ChunkLog, SessionLog, ShownLog } from '../log/log.ts';
import type { Reader } from '../registry/session.ts';
import { type Persistence, untilStored } from '../store/rules.ts';
import type { CallRecord, OutboxEvent, OwnedKey, Store } from '../store/store.ts';
import { type DraftPace, Drafts } from './pace.ts';

/** The objects and callbacks that the output of a session uses. */
export interface OutputContext {
  store: Store;
  key: OwnedKey;
  log: SessionLog;
  clock: Clock;
  drafts: DraftPace;
  events: EventSource;
  /** Reports that a draft could not be stored. */
  onFault: (error: unknown) => void;
  /** Called when a message cannot be stored yet, because the store is unavailable. */
  onWait: (error: unknown) => void;
  /** Whether this process no longer owns the session, so that no write can succeed. */
  isOver: () => boolean;
}

/**
 * Sends the chunks of a session: each goes into the log and into the message it belongs to. Messages are stored whole when they end or pause, and as drafts
 * while they are written. Chunks belong to the message of the last `start`.
 */
export class Output {
  /** Every chunk of the session, including chunks that clients may not get yet. */
  readonly log: ChunkLog;
  /** The part of the log that clients may get. */
  readonly shown: ShownLog;
  /** The readers of SSE responses. */
  readonly readers: Readers;
  private readonly store: Store;
  private readonly key: OwnedKey;
  private readonly drafts: Drafts;
  private readonly folds = new Map<string, MessageFold>();
  private readonly starts = new Map<string, number>();
  private current: MessageFold | null = null;
  private readonly resting = new Set<() => void>();
  private readonly persistence: Persistence;
  private readonly events: EventSource;
  private readonly onFault: (error: unknown) => void;
  /** The ids of the messages that are not over and that the agent makes, as opposed to the application. The event `turn-finished` reports the end of each. */
  private readonly turns = new Set<string>();

  constructor({ store, key, log, clock, drafts, events, onFault, onWait, isOver }: OutputContext) {
    this.persistence = { clock, onWait, isOver };
    this.store = store;
    this.key = key;
    this.events = events;
    this.onFault = onFault;
    this.log = log.chunks;
    this.shown = log.shown;
    this.readers = new Readers(() => this.log.last);
    this.drafts = new Drafts({
      store,
      key,
      clock,
      pace: drafts,
      message: () => this.message,
      isKept: () => this.isWholeIn(log),
      onFault,
    });
    for (let entry = this.log.at(this.log.first); entry; entry = this.log.at(entry.seq + 1)) {
      const { chunk, seq } = entry;
      if (chunk?.type === 'start' && chunk.messageId !== undefined) this.noteStart(chunk.messageId, seq);
    }
  }

  /** The message that the next chunks belong to. */
  get message(): Message | null {
    return this.current?.message ?? null;
  }

  /**
   * Starts a message, or continues one: appends `start`. `isTurn`: the agent makes the message, as opposed to the application. Subscriptions to turns that start delay the message until
   * the event is stored.
   */
  begin(message: Message, isTurn: boolean): Promise<void> | undefined {
    if (isTurn && !this.folds.has(message.id)) {
      this.turns.add(message.id);
      const event = this.events.isIdle
        ? null
        : this.events.prepare('turn-started', this.key, { messageId: message.id });
      if (event?.outbox) return this.tell(event)?.then(() => this.open(message));
      event?.happened();
    }
    return this.open(message);
  }

  private open(message: Message): undefined {
    const fold = this.folds.get(message.id) ?? new MessageFold(message);
    if (!this.folds.has(message.id)) this.drafts.know(message);
    this.folds.set(message.id, fold);
    this.current = fold;
    this.drafts.begin(message.id);
    // Only the `start` of a new message carries its metadata: a client that continues a message already has it.
    const { metadata: messageMetadata } = message;
    const seq = this.log.append(
      messageMetadata && message.parts.length === 0
        ? { type: 'start', messageId: message.id, messageMetadata: { ...messageMetadata } }
        : { type: 'start', messageId: message.id },
    );
    this.noteStart(message.id, seq);
  }

  private noteStart(messageId: string, seq: number): void {
    if (!this.starts.has(messageId)) this.starts.set(messageId, seq);
  }

  /** Continues a message of an earlier owner that has not ended. */
  adopt(message: Message): void {
    if (this.folds.has(message.id)) return;
    this.folds.set(message.id, new MessageFold(message));
    this.turns.add(message.id);
    this.drafts.know(message);
  }

  say(chunk: Chunk): void {
    this.current?.push(chunk);
    this.log.append(chunk);
    this.drafts.appended();
  }

  /** Counts a piece of sound of a message. */
  spoke({ messageId, sampleRate, data }: { messageId: string; sampleRate: number; data: string }): void {
    if (this.folds.has(messageId)) this.drafts.spoke(messageId, sampleRate, base64Bytes(data));
  }

  /**
   * Stores the message with the chunk in it, and then appends the chunk, so that a client finds it after a crash too. When the message cannot be stored, the chunk
   * is appended anyway: its event has happened, and the next save includes it. While the store is unavailable the chunk waits. With `inStep` it is wrapped in a step.
   * `asks`: the call whose approval request the chunk is.
   */
  async sayStored(chunk: Chunk, inStep: boolean, asks: CallRecord): Promise<void> {
    this.current?.push(chunk);
    try {
      await this.save(undefined, this.asked(asks));
    } finally {
      if (inStep) this.log.append({ type: 'start-step' });
      this.log.append(chunk);
      if (inStep) this.log.append({ type: 'finish-step' });
    }
  }

  /**
   * Ends a response of a message. The end is stored before any client gets it, and its chunks are appended together: no chunk of another message comes
   * between them and the entry that ends the response. `isOver`: no call of the message waits.
   */
  async conclude(
    message: Message,
    chunks: Chunk[],
    { prepare, isOver }: { prepare: () => Promise<unknown>; isOver: boolean },
  ): Promise<void> {
    const fold = this.folds.get(message.id);
    for (const chunk of chunks) fold?.push(chunk);
    try {
      await untilStored(prepare, this.persistence);
      await this.save(message.id, isOver ? this.finished(message) : null);
    } finally {
      for (const chunk of chunks) this.log.append(chunk);
      this.done();
    }
  }

  /** Applies chunks to a message and stores it. No client gets the chunks. */
  async amend(messageId: string, chunks: readonly Chunk[]): Promise<void> {
    const message = await this.load(messageId);
    if (!message) return;
    const fold = this.folds.get(messageId) ?? new MessageFold(message);
    for (const chunk of chunks) fold.push(chunk);
    await this.put(message);
  }

  /** Appends a chunk that is no part of a message. */
  inject(chunk: Chunk): void {
    this.log.append(chunk);
  }

  /** Ends a response: the next message begins with `start`. */
  done(): void {
    this.drafts.drop();
    this.log.append(null);
    this.current = null;
  }

  /** The ids of the messages that are being written, or wait for an answer. */
  get inProgress(): string[] {
    return [...this.folds.keys()];
  }

  fold(messageId: string): MessageFold | undefined {
    return this.folds.get(messageId);
  }

  /** A message in progress, or the stored one. */
  async load(messageId: string): Promise<Message | null> {
    const fold = this.folds.get(messageId);
    return fold ? fold.message : this.store.loadMessage(this.key, messageId);
  }

  /**
   * The stored messages as they are now: with the parts that were added since, and with messages that were not stored yet, but without open blocks (see
   * `openBlocks`). Later chunks do not change the result.
   */
  asNow(stored: Message[]): Message[] {
    const open = new Set<unknown>(this.current?.openBlocks.map(({ part }) => part));
    const now = (message: Message): Message => {
      const { parts, ...rest } = message;
      return structuredClone({ ...rest, parts: parts.filter((part) => !open.has(part)) });
    };
    const known = new Set(stored.map(({ id }) => id));
    // Messages that have begun, but are not among the stored ones yet.
    const begun = [...this.folds.values()].filter(
      ({ message }) => !known.has(message.id) && (message.parts.length > 0 || this.starts.has(message.id)),
    );
    return [
      ...stored.map((one) => {
        const fold = this.folds.get(one.id);
        return fold ? now(fold.message) : one;
      }),
      ...begun.map(({ message }) => now(message)),
    ];
  }

  /** The chunks that open the current blocks again, with all of their content so far. */
  openBlocks(): Chunk[] {
    return (this.current?.openBlocks ?? []).flatMap(({ id, part }): Chunk[] =>
      part.type === 'text'
        ? [
            { type: 'text-start', id },
            { type: 'text-delta', id, delta: part.text },
          ]
        : [
            { type: 'reasoning-start', id },
            { type: 'reasoning-delta', id, delta: part.text },
          ],
    );
  }

  /** Returns stored messages without their draft parts. */
  withoutDrafts(stored: Message[]): Message[] {
    return this.drafts.without(stored);
  }

  /** Tells the application of something that no other write stores. Resolves, in any case, when a subscription has the event. */
  private tell(event: PreparedEvent | null): Promise<void> | undefined {
    const { outbox } = event ?? {};
    if (!outbox) return void event?.happened();
    const write = () => this.store.keepEvents(this.key, outbox);
    return untilStored(write, this.persistence).then(() => event?.happened(), this.onFault);
  }

  /** The event for a call whose approval request, or question, is shown; null without a listener. */
  asked(call: CallRecord | undefined): PreparedEvent | null {
    return call && !this.events.isIdle ? callAsked(this.events, this.key, call) : null;
  }

  /** The event for a complete message; null without a listener. `isLeft`: the user continued while its calls waited. */
  private finished(message: Message, isLeft = false): PreparedEvent | null {
    const isTurn = this.turns.delete(message.id);
    return isTurn && !this.events.isIdle ? turnFinished(this.events, this.key, message, isLeft) : null;
  }

  async save(messageId = this.current?.message.id, event: PreparedEvent | null = null): Promise<void> {
    const fold = messageId === undefined ? undefined : this.folds.get(messageId);
    if (!fold) return;
    if (fold === this.current) this.drafts.drop();
    if (this.drafts.written) await this.drafts.written;
    this.drafts.know(fold.message);
    const { length } = fold.message.parts;
    await this.put(fold.message, event?.outbox);
    this.drafts.put(fold.message, length);
    event?.happened();
  }

  /** Stores a message. While the store is unavailable it retries, because the user has already read the message. */
  private put(message: Message, outbox?: readonly OutboxEvent[]): Promise<void> {
    const write = () => this.store.putMessage(this.key, message, undefined, outbox);
    return untilStored(write, this.persistence);
  }

  /** Cancels the planned draft. */
  dropDraft(): void {
    this.drafts.drop();
  }

  /** Ends a message: it stays in the log for clients that reconnect, but nothing more is written to it. */
  release(messageId: string): Promise<void> | undefined {
    const { message } = this.folds.get(messageId) ?? {};
    const reported = message && this.tell(this.finished(message, true));
    this.folds.delete(messageId);
    this.drafts.release(messageId);
    if (this.current?.message.id === messageId) this.current = null;
    for (const [id, seq] of this.starts) if (seq < this.log.first) this.starts.delete(id);
    return reported;
  }

  /** The number of the first chunk of a message in the log; null when the log does not have it. */
  startOf(messageId: string): number | null {
    const seq = this.starts.get(messageId);
    return seq !== undefined && seq >= this.log.first ? seq : null;
  }

  /**
   * Whether the log has the whole message that is being written, so that a new owner finds it there. It must have the first `start`, because only that one
   * has the metadata.
   */
  private isWholeIn(log: SessionLog): boolean {
    const seq = this.message && this.startOf(this.message.id);
    const chunk = seq === null ? null : this.log.at(seq)?.chunk;
    return seq !== null && chunk?.type === 'start' && chunk.messageMetadata != null && log.keeps(seq);
  }

  /** Calls `callback` whenever the agent becomes idle or waits for an answer. The returned function unsubscribes. */
  onRest(callback: () => void): () => void {
    this.resting.add(callback);
    return () => this.resting.delete(callback);
  }

  /** Call it when the agent is idle or waits for an answer, and the log has all of its chunks. */
  rested(): void {
    for (const callback of this.resting) callback();
  }

  /** Ends all responses with an error. */
  end(why: ProtocolError): void {
    this.drafts.drop();
    this.readers.cut(why);
  }
}

/** The ids of the approvals of a message that were decided. */
export function decidedIn(message: Message | null): string[] {
  return (message?.parts ?? []).flatMap((part) =>
    'approval' in part && part.approval?.approved !== undefined ? [part.approval.id] : [],
  );
}

/** How many chunks a reader may lag behind before the agent waits for it. */
const MAX_LAG = 4096;

/**
 * The readers of SSE responses. The agent waits for at most one of them: the reader of the active connection, which posted the message being answered, or
 * resumed its response from where it was. The agent never waits for the other readers.
 */
export class Readers {
  private readonly all = new Set<Reader>();
  /** The number of the last entry in the log. */
  private readonly last: () => number;
  private awaited: Reader | null = null;
  private full: { room: Promise<void>; goOn: () => void } | null = null;

  constructor(last: () => number) {
    this.last = last;
  }

  /** Adds a reader; the returned function removes it. */
  attach(reader: Reader): () => void {
    this.all.add(reader);
    if (reader.isActive) this.awaited = reader;
    this.moved();
    return () => {
      this.all.delete(reader);
      if (this.awaited === reader) this.awaited = null;
      this.moved();
    };
  }

  /** Call it when another connection became the active one: from then on the agent waits for no reader. */
  loseActive(): void {
    this.awaited = null;
    this.moved();
  }

  /** Ends all readers with an error. */
  cut(why: ProtocolError): void {
    for (const reader of [...this.all]) reader.cut(why);
  }

  /** Call it when a reader made progress. */
  moved(): void {
    if (!this.full || this.isLagging()) return;
    this.full.goOn();
    this.full = null;
  }

  /** Resolves when the reader of the active connection has caught up enough; undefined when it does not lag. */
  room(): Promise<void> | undefined {
    if (!this.isLagging()) return undefined;
    this.full ??= untilCalled();
    return this.full.room;
  }

  private isLagging(): boolean {
    return this.awaited !== null && this.last() - this.awaited.position() > MAX_LAG;
  }
}

function untilCalled(): { room: Promise<void>; goOn: () => void } {
  let goOn = (): void => undefined;
  const room = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  return { room, goOn };
}

/** The text of a message. */
export function textOf({ parts }: Message): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}
