import type { Message, MessageMetadata } from '../../protocol/index.ts';
import type { Clock } from '../clock.ts';
import { isTextPart } from '../log/take-over.ts';
import type { OwnedKey, Store } from '../store/store.ts';

/** One timer for many writers. The first `wake` starts it; after `ms` milliseconds it calls the callback of every `wake` since then. */
export class BatchTimer {
  private readonly clock: Clock;
  private readonly ms: number;
  private waiting: (() => void)[] = [];

  constructor(clock: Clock, ms: number) {
    this.clock = clock;
    this.ms = ms;
  }

  now(): number {
    return this.clock.elapsed();
  }

  /** Whether at least `ms` milliseconds have passed since that time. */
  isOverSince(time: number): boolean {
    return this.clock.elapsed() - time >= this.ms;
  }

  /** Calls the callback when the timer fires. */
  wake(callback: () => void): void {
    if (this.waiting.push(callback) > 1) return;
    this.clock.after(this.ms, () => {
      const woken = this.waiting;
      this.waiting = [];
      for (const call of woken) call();
    });
  }
}

/**
 * Decides when chunks are sent to one reader, or to the hub. A text delta is sent at once if nothing was sent within the last window (the interval of the
 * `BatchTimer`). Otherwise it waits until the timer fires, together with later deltas. All other chunks are sent at once.
 */
export class Departure {
  private readonly window: BatchTimer;
  private readonly leave: () => void;
  private leftAt = Number.NEGATIVE_INFINITY;
  private isPlanned = false;

  constructor(window: BatchTimer, leave: () => void) {
    this.window = window;
    this.leave = leave;
  }

  /** Call it when a chunk has arrived. It runs for every token, so it reads no clock while deltas already wait for the timer. */
  arrived(type: string | undefined): void {
    const isDelta = type === 'text-delta' || type === 'reasoning-delta';
    if (isDelta && this.isPlanned) return;
    if (isDelta && !this.window.isOverSince(this.leftAt)) this.later();
    else this.leave();
  }

  /** Plans to send, when the timer fires, everything that waits then. */
  later(): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    this.window.wake(() => {
      this.isPlanned = false;
      this.leave();
    });
  }

  /** Call it when chunks were sent. */
  left(): void {
    this.leftAt = this.window.now();
  }
}

/** The heartbeat of all SSE responses. They share one timer, which stops when no response is left. */
export class Heartbeat {
  private readonly clock: Clock;
  private readonly ms: number;
  private readonly members = new Set<() => void>();
  private cancel: (() => void) | null = null;

  constructor(clock: Clock, ms: number) {
    this.clock = clock;
    this.ms = ms;
  }

  /** Calls `beat` at every heartbeat, until the returned function is called. */
  join(beat: () => void): () => void {
    this.members.add(beat);
    this.cancel ??= this.clock.after(this.ms, () => this.beat());
    return () => {
      this.members.delete(beat);
      if (this.members.size > 0) return;
      this.cancel?.();
      this.cancel = null;
    };
  }

  private beat(): void {
    this.cancel = this.clock.after(this.ms, () => this.beat());
    for (const member of [...this.members]) member();
  }
}

/** The share of the time of this process that writing the drafts of all sessions may take. */
const SHARE = 0.005;
/**
 * The shortest and longest time between two drafts of a message, unless the draft can wait (`KEPT_MS`). Text that is not in a draft is only in
 * memory. A shorter time than `MIN_MS` would help no user, because users do not read faster.
 */
const MIN_MS = 100;
const MAX_MS = 1000;
/** How long text may have no draft if it is in a replicated log. Then the draft is needed only if the process and the log are both lost. */
const KEPT_MS = 12_000;

/** Decides how soon a draft may be written, so that the drafts of all sessions together take at most `SHARE` of the time, as far as `MAX_MS` allows. */
export class DraftPace {
  private readonly clock: Clock;
  /** How long the last draft took to write: the expected cost of the next one. Before the first draft it is a guess. */
  private costMs = 0.5;
  /** Until this time, the planned drafts of all sessions use the whole share. */
  private bookedUntil = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /**
   * Returns how long a session must wait before its next draft, and reserves the time for it, so that sessions that start together do not write
   * together. The first draft of a message is written at once, if the share allows that. `isKept`: the text is in a replicated log.
   */
  book({ isFirst, isKept = false }: { isFirst: boolean; isKept?: boolean }): number {
    const now = this.clock.elapsed();
    const free = Math.max(this.bookedUntil, now);
    this.bookedUntil = Math.min(free + this.costMs / SHARE, now + MAX_MS);
    if (isKept) return KEPT_MS + free - now;
    return Math.max(isFirst ? 0 : MIN_MS, free - now);
  }

  /** Writes a draft, and measures how long that takes. */
  async spend(write: () => Promise<unknown>): Promise<void> {
    const began = this.clock.elapsed();
    await write();
    this.costMs = this.clock.elapsed() - began;
  }
}

type Sound = NonNullable<MessageMetadata['audio']>;

/** The objects and callbacks that `Drafts` uses. */
export interface DraftsContext {
  store: Store;
  key: OwnedKey;
  clock: Clock;
  pace: DraftPace;
  /** The message that is being written. */
  message: () => Message | null;
  /** Whether all of the message is in a replicated log. */
  isKept: () => boolean;
  /** Reports that a draft could not be stored. */
  onFault: (error: unknown) => void;
}

/** Stores drafts of the message that is being written, because the process may die before the message ends. */
export class Drafts {
  private readonly context: DraftsContext;
  /** For each message, how many parts it had when it was last stored as a whole, as opposed to a draft. */
  private readonly saved = new Map<string, number>();
  /** The amount of sound that each message has so far. Only drafts contain it, until the message ends. */
  private readonly sounds = new Map<string, Sound>();
  private cancel: (() => void) | null = null;
  /** Whether the planned draft can wait, because the next owner of the session would find the text in the log. */
  private hasTime = false;
  /** The number of stored parts of the message that is being written, drafts included. */
  private stored = 0;
  /** Whether no draft was written since the `start` of the message. */
  private isFirst = true;
  /** Settles when the draft that is being written, and those that wait for it, are stored; null when no draft is being written. */
  private writing: Promise<void> | null = null;
  /** The message of the newest draft in `writing`. */
  private drafted: Message | null = null;

  constructor(context: DraftsContext) {
    this.context = context;
  }

  /** Records that a message is stored as a whole, with all parts that it has now. */
  know({ id, parts }: Message): void {
    this.saved.set(id, parts.length);
  }

  /** Call it when a message starts, or continues. */
  begin(messageId: string): void {
    this.isFirst = true;
    this.stored = this.saved.get(messageId) ?? 0;
  }

  /** Call it when a chunk was added to the message. */
  appended(): void {
    // The next owner takes only text from the log, and everything else from the store. So a part that is not text must be stored soon, and at once if the
    // store does not have the message yet: the next owner takes no text of a message that the store lacks and that has other parts.
    if (this.hasTime && !this.isTextOnly()) {
      this.place();
      this.drop();
    }
    this.cancel ??= this.soon();
  }

  /**
   * Counts a piece of sound of a message. No log contains sound. From the count in a draft the next owner of the session sees that the message was
   * being spoken when its process died, and how much of it was sent. So drafts of a spoken message are written often.
   */
  spoke(messageId: string, sampleRate: number, pieceBytes: number): void {
    const before = this.sounds.get(messageId);
    const bytes = (before?.bytes ?? 0) + pieceBytes;
    const chunks = (before?.chunks ?? 0) + 1;
    this.sounds.set(messageId, { chunks, bytes, sampleRate, duration: bytes / (sampleRate * 2) });
    if (messageId !== this.context.message()?.id) return;
    if (before) {
      if (this.hasTime) this.drop();
      this.cancel ??= this.soon();
      return;
    }
    this.drop();
    this.write();
  }

  /** Records how many parts of a message are stored. */
  put(message: Message, parts: number): void {
    if (message !== this.context.message()) return;
    this.stored = parts;
    // The message was just stored, so the next draft can wait longer than planned.
    if (!this.cancel || !this.context.isKept() || !this.isTextOnly()) return;
    this.drop();
    this.cancel = this.soon();
  }

  /** Cancels the planned draft. */
  drop(): void {
    this.cancel?.();
    this.cancel = null;
    this.hasTime = false;
  }

  /**
   * Resolves when the draft that is being written is stored, or its write has failed; null when no draft is being written. Save the whole message only after
   * that, because the older draft must not replace it.
   */
  get written(): Promise<void> | null {
    return this.writing;
  }

  /** Call it when the message is no longer in progress. */
  release(messageId: string): void {
    this.saved.delete(messageId);
    this.sounds.delete(messageId);
  }

  /** Returns stored messages without the parts that only drafts have. A reader of the response in progress gets those parts as chunks. */
  without(stored: Message[]): Message[] {
    return stored.flatMap((message) => {
      const count = this.saved.get(message.id) ?? message.parts.length;
      if (count === message.parts.length) return [message];
      return count === 0 ? [] : [{ ...message, parts: message.parts.slice(0, count) }];
    });
  }

  /**
   * Stores the message that is being written if the store does not have it yet: at once, or after the draft that is being written. Call it before another
   * message is stored or starts: the order of the first writes is the order of the stored messages. Resolves when the message is stored; null when nothing is
   * being written.
   */
  place(): Promise<void> | null {
    const message = this.context.message();
    if (this.cancel && this.stored === 0 && message && message !== this.drafted) {
      this.drop();
      this.store(message);
    }
    return this.writing;
  }

  private soon(): () => void {
    const { clock, pace, isKept } = this.context;
    this.hasTime = isKept() && this.isTextOnly();
    const wait = pace.book({ isFirst: this.isFirst, isKept: this.hasTime });
    return clock.after(wait, () => this.write());
  }

  /** Whether only text was added since the message was stored, and none of it was spoken. */
  private isTextOnly(): boolean {
    const { id = '', parts = [] } = this.context.message() ?? {};
    if (this.sounds.has(id)) return false;
    for (let index = this.stored; index < parts.length; index++) {
      const part = parts[index];
      if (part && !isTextPart(part)) return false;
    }
    return true;
  }

  private write(): void {
    const message = this.context.message();
    this.isFirst = false;
    this.hasTime = false;
    // Only one draft is written at a time. If the store has not finished the last one, try again later.
    this.cancel = this.writing ? this.soon() : null;
    if (!this.writing && message) this.store(message);
  }

  /** Writes a draft of a message, after the draft that is being written. */
  private store(message: Message): void {
    const { store, key, pace, onFault } = this.context;
    this.isFirst = false;
    if (message.parts.length === 0) return;
    this.drafted = message;
    // A draft that fails is not repeated, because the whole message is stored when it ends.
    const put = async () => {
      const { length } = message.parts;
      await store.putMessage(key, this.withSound(message));
      this.put(message, length);
    };
    const write = () => pace.spend(() => put().catch(onFault));
    const writing = (this.writing ? this.writing.then(write) : write()).finally(() => {
      if (this.writing !== writing) return;
      this.writing = null;
      this.drafted = null;
    });
    this.writing = writing;
  }

  private withSound(message: Message): Message {
    const audio = this.sounds.get(message.id);
    return audio ? { ...message, metadata: { ...message.metadata, audio } } : message;
  }
}
