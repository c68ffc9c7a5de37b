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

/** The objects and callbacks that `Output` gets from its conversation. */
export interface OutputContext {
  store: Store;
  key: OwnedKey;
  log: SessionLog;
  clock: Clock;
  drafts: DraftPace;
  events: EventSource;
  /** Reports that a draft or an event could not be stored. */
  onFault: (error: unknown) => void;
  /** Called when a message cannot be stored yet, because the store is unavailable. The write is repeated. */
  onWait: (error: unknown) => void;
  /** Whether this process lost the session, handed it over or removed it, so that no write can succeed. */
  isOver: () => boolean;
}

/**
 * Sends the chunks of a session: appends each chunk to the log, and adds it to the message of the last `start`. Messages are stored whole when they end
 * or pause, and as drafts while they are written.
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
  /** The messages in progress, by id: those that are being written or whose calls are open. */
  private readonly folds = new Map<string, MessageFold>();
  /** By message id, the number of the first `start` of the message in the log. */
  private readonly starts = new Map<string, number>();
  private current: MessageFold | null = null;
  private readonly resting = new Set<() => void>();
  private readonly persistence: Persistence;
  private readonly events: EventSource;
  private readonly onFault: (error: unknown) => void;
  /**
   * The ids of the messages in progress that the agent writes; texts of the application are not among them. The event `turn-finished` reports the end
   * of each.
   */
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

  /** The message that the next chunks belong to; null when a `start` must come first. */
  get message(): Message | null {
    return this.current?.message ?? null;
  }

  /**
   * Starts a message, or continues one: appends its `start`. `isTurn`: whether the agent writes the message; false for a text of the application. If
   * a subscription wants the event `turn-started`, the `start` waits until that event is stored, and the returned promise waits for the `start`.
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
    if (fold !== this.current) this.drafts.place();
    if (!this.folds.has(message.id)) this.drafts.know(message);
    this.folds.set(message.id, fold);
    this.current = fold;
    this.drafts.begin(message.id);
    // Only the first `start` of a message carries its metadata, because a client that gets a later one has the metadata already.
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

  /** Adds a message that an earlier owner of the session started, and that has not ended. */
  adopt(message: Message): void {
    if (this.folds.has(message.id)) return;
    this.folds.set(message.id, new MessageFold(message));
    this.turns.add(message.id);
    this.drafts.know(message);
  }

  /** Adds a chunk to the current message and appends it to the log. */
  say(chunk: Chunk): void {
    this.current?.push(chunk);
    this.log.append(chunk);
    this.drafts.appended();
  }

  /** Counts a piece of sound of a message, so that drafts of the message say how much of it was spoken. */
  spoke({ messageId, sampleRate, data }: { messageId: string; sampleRate: number; data: string }): void {
    if (this.folds.has(messageId)) this.drafts.spoke(messageId, sampleRate, base64Bytes(data));
  }

  /**
   * Stores the current message with the chunk in it, and then appends the chunk, so that a client that gets the chunk finds it in the store after a
   * crash, too. While the store is unavailable, the chunk waits. If the store rejects the message for another reason, the chunk is appended
   * nevertheless: the next save includes it. With `inStep` step chunks surround it. `asks`: the call that needs the approval.
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
   * Ends a response of a message. The end is stored before any client gets it. The chunks of the end are appended together with the end mark, so that no
   * chunk of another message comes between them. `prepare` stores the images of the message first. `isOver`: no call of the message waits.
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

  /** Adds chunks to a message and stores it. The chunks are not sent. */
  async amend(messageId: string, chunks: readonly Chunk[]): Promise<void> {
    const message = await this.load(messageId);
    if (!message) return;
    const fold = this.folds.get(messageId) ?? new MessageFold(message);
    for (const chunk of chunks) fold.push(chunk);
    await this.put(message);
  }

  /** Appends a chunk to the log without adding it to a message. */
  inject(chunk: Chunk): void {
    this.log.append(chunk);
  }

  /** Appends the end mark of a response. The next chunks need a `start` before them. */
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

  /** The message with this id: the current content of a message in progress, otherwise the stored message. */
  async load(messageId: string): Promise<Message | null> {
    const fold = this.folds.get(messageId);
    return fold ? fold.message : this.store.loadMessage(this.key, messageId);
  }

  /**
   * Replaces stored messages that are in progress by copies of their current content, which later chunks do not change, and adds the messages in
   * progress that are not stored yet. Leaves out the open text and reasoning blocks: `openBlocks` returns the chunks that open them again.
   */
  asNow(stored: Message[]): Message[] {
    const open = new Set<unknown>(this.current?.openBlocks.map(({ part }) => part));
    const now = (message: Message): Message => {
      const { parts, ...rest } = message;
      return structuredClone({ ...rest, parts: parts.filter((part) => !open.has(part)) });
    };
    const known = new Set(stored.map(({ id }) => id));
    // Messages in progress that are not among the stored ones yet.
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

  /** The chunks that open the unfinished text and reasoning blocks of the current message again, each with its text so far. */
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

  /** Returns stored messages without the parts that only their drafts have. */
  withoutDrafts(stored: Message[]): Message[] {
    return this.drafts.without(stored);
  }

  /**
   * Reports an event to the application. If a subscription wants the event, the event is stored first, and the returned promise resolves when it is stored
   * or the write has failed; otherwise returns undefined.
   */
  private tell(event: PreparedEvent | null): Promise<void> | undefined {
    const { outbox } = event ?? {};
    if (!outbox) return void event?.happened();
    const write = () => this.store.keepEvents(this.key, outbox);
    return untilStored(write, this.persistence).then(() => event?.happened(), this.onFault);
  }

  /** The event for a call whose approval request or question is shown; null without such a call, or when the application does not want events. */
  asked(call: CallRecord | undefined): PreparedEvent | null {
    return call && !this.events.isIdle ? callAsked(this.events, this.key, call) : null;
  }

  /**
   * The event for the end of a message; null for a text of the application, or when the application does not want events. `isLeft`: the conversation
   * continued while calls of the message waited.
   */
  private finished(message: Message, isLeft = false): PreparedEvent | null {
    const isTurn = this.turns.delete(message.id);
    return isTurn && !this.events.isIdle ? turnFinished(this.events, this.key, message, isLeft) : null;
  }

  /** Stores the current content of a message in progress, and `event` with it. */
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

  /** Stores a message. While the store is unavailable, the write is repeated, because the user has already read the message. */
  private put(message: Message, outbox?: readonly OutboxEvent[]): Promise<void> {
    const write = () => this.store.putMessage(this.key, message, undefined, outbox);
    return untilStored(write, this.persistence);
  }

  /**
   * Resolves when the message in progress has its place among the stored messages, so that another message can be stored after it; null when it needs
   * none: it already has that place, has no part yet, or there is no message in progress.
   */
  placed(): Promise<void> | null {
    return this.drafts.place();
  }

  /** Cancels the planned draft. */
  dropDraft(): void {
    this.drafts.drop();
  }

  /** Removes a message from the messages in progress. Its chunks stay in the log for clients that reconnect. */
  release(messageId: string): Promise<void> | undefined {
    const { message } = this.folds.get(messageId) ?? {};
    const reported = message && this.tell(this.finished(message, true));
    this.folds.delete(messageId);
    this.drafts.release(messageId);
    if (this.current?.message.id === messageId) this.current = null;
    for (const [id, seq] of this.starts) if (seq < this.log.first) this.starts.delete(id);
    return reported;
  }

  /** The number of the first `start` of a message in the log; null when the log does not have it. */
  startOf(messageId: string): number | null {
    const seq = this.starts.get(messageId);
    return seq !== undefined && seq >= this.log.first ? seq : null;
  }

  /**
   * Whether the log has the whole message that is being written, so that the next owner of the session finds it there. The log must have the first
   * `start`, because only that one has the metadata.
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

  /** Call it when the agent is idle or waits for an answer, and all of its chunks are appended. */
  rested(): void {
    for (const callback of this.resting) callback();
  }

  /** Ends all SSE responses with an error, except those of watchers, which end as listeners. */
  end(why: ProtocolError): void {
    this.drafts.drop();
    this.readers.cut(why);
  }
}

/** The approval ids of the decided approval requests of a message. */
export function decidedIn(message: Message | null): string[] {
  return (message?.parts ?? []).flatMap((part) =>
    'approval' in part && part.approval?.approved !== undefined ? [part.approval.id] : [],
  );
}

/** How many log entries the awaited reader (see `Readers`) may lag behind before the agent waits for it. */
const MAX_LAG = 4096;

/**
 * The readers of SSE responses. The agent waits for at most one of them when it lags: the reader of the client that posted the message which is being
 * answered, or that resumed the response.
 */
export class Readers {
  private readonly all = new Set<Reader>();
  /** The number of the last entry in the log. */
  private readonly last: () => number;
  /** The reader that the agent waits for when it lags. */
  private awaited: Reader | null = null;
  /** What the agent waits for while the awaited reader lags; null while the agent does not wait. */
  private wait: { room: Promise<void>; end: () => void } | null = null;

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

  /** Call it when another connection has become the active one. From then on the agent waits for no reader, until another active reader is attached. */
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
    if (!this.wait || this.isLagging()) return;
    this.wait.end();
    this.wait = null;
  }

  /** Resolves when the awaited reader no longer lags; undefined when that reader does not lag, or when no reader is awaited. */
  room(): Promise<void> | undefined {
    if (!this.isLagging()) return undefined;
    this.wait ??= untilEnded();
    return this.wait.room;
  }

  private isLagging(): boolean {
    return this.awaited !== null && this.last() - this.awaited.position() > MAX_LAG;
  }
}

function untilEnded(): { room: Promise<void>; end: () => void } {
  let end = (): void => undefined;
  const room = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { room, end };
}

/** The text of a message. */
export function textOf({ parts }: Message): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}
