import type { Message, MessageMetadata } from '../../protocol/index.ts';
import type { Clock } from '../clock.ts';
import { isTextPart } from '../log/take-over.ts';
import type { OwnedKey, Store } from '../store/store.ts';

/** One timer for many writers: at the end of the current window it calls each writer that called `wake`. */
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

  /** Whether a whole window has passed since that time. */
  isOverSince(time: number): boolean {
    return this.clock.elapsed() - time >= this.ms;
  }

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
 * Decides when chunks are sent to one reader. Text is sent at once if nothing was sent within the last window, and otherwise gathers until the window ends.
 * All other chunks are sent at once.
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

  /** Call it when a chunk arrived. It runs for every token, so it returns at once while text gathers, without reading the clock. */
  arrived(type: string | undefined): void {
    const isDelta = type === 'text-delta' || type === 'reasoning-delta';
    if (isDelta && this.isPlanned) return;
    if (isDelta && !this.window.isOverSince(this.leftAt)) this.later();
    else this.leave();
  }

  /** Plans to send everything at the end of the window. */
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

/** The heartbeat of all idle connections. They share one timer, which stops when no connection is left. */
export class Heartbeat {
  private readonly clock: Clock;
  private readonly ms: number;
  private readonly members = new Set<() => void>();
  private cancel: (() => void) | null = null;

  constructor(clock: Clock, ms: number) {
    this.clock = clock;
    this.ms = ms;
  }

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

/** The share of the process's time that writing the drafts of all sessions may take. */
const SHARE = 0.005;
/**
 * How long text may be only in memory. Drafts are not written more often than every `MIN_MS`, because no user reads faster, nor less often than every
 * `MAX_MS`.
 */
const MIN_MS = 100;
const MAX_MS = 1000;
/** How long text may have no draft if it is in a log that outlives the process. The draft is needed only if process and log are both lost. */
const KEPT_MS = 12_000;

/** Decides how soon a draft may be written, so that the drafts of all sessions together take a small share of the time. */
export class DraftPace {
  private readonly clock: Clock;
  /** How long the last draft took to write, as the expected cost of the next one; a guess before the first. */
  private costMs = 0.5;
  /** Until this time, planned drafts use up the whole share. */
  private bookedUntil = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /**
   * Returns how long to wait before the next draft of a session, and books its time, so that sessions that start together do not write together. The first
   * text of a message is stored at once, if the share allows. `isKept`: the text is in a log that outlives the process.
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

/** The objects and callbacks that the drafts of a session use. */
export interface DraftsContext {
  store: Store;
  key: OwnedKey;
  clock: Clock;
  pace: DraftPace;
  /** The message that is being written. */
  message: () => Message | null;
  /** Whether all of the message is in a log that outlives this process. */
  isKept: () => boolean;
  /** Reports that a draft could not be stored. */
  onFault: (error: unknown) => void;
}

/** Stores drafts of the message that is being written, in case the process dies before the end of the message. */
export class Drafts {
  private readonly context: DraftsContext;
  /** The number of parts of each message when it was saved last, without drafts. */
  private readonly saved = new Map<string, number>();
  /** The sound of each message so far: in drafts alone, until the message ends. */
  private readonly sounds = new Map<string, Sound>();
  private cancel: (() => void) | null = null;
  /** Whether the next draft can wait, because a new owner would find the text in the log. */
  private hasTime = false;
  /** The number of parts of the message that are stored, drafts included. */
  private stored = 0;
  /** Whether nothing of the message was stored since its `start`. */
  private isFirst = true;
  private writing: Promise<void> | null = null;

  constructor(context: DraftsContext) {
    this.context = context;
  }

  /** Records how many parts of a stored or new message are saved. */
  know({ id, parts }: Message): void {
    this.saved.set(id, parts.length);
  }

  /** Call it when a message starts. */
  begin(messageId: string): void {
    this.isFirst = true;
    this.stored = this.saved.get(messageId) ?? 0;
  }

  /** Call it when a chunk was appended. */
  appended(): void {
    // A new owner takes only text from the log, and everything else from the store: a part that is no text must be stored soon.
    if (this.hasTime && !this.isTextOnly()) this.drop();
    this.cancel ??= this.soon();
  }

  /**
   * Counts a piece of sound of a message. Sound is in no log: when a draft has this count and the message has no end, the next owner knows that the message
   * was being spoken when its process died, and how much of it was sent. So drafts of a spoken message are written often.
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

  /** Notes how many parts of a message are stored. */
  put(message: Message, parts: number): void {
    if (message !== this.context.message()) return;
    this.stored = parts;
    // The message was just stored, so a draft that was planned before that can wait.
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

  /** Resolves when the message may be saved, since a draft must not be written after the message itself. Null when no draft is being written. */
  get written(): Promise<void> | null {
    return this.writing;
  }

  /** Call it when the message has ended. */
  release(messageId: string): void {
    this.saved.delete(messageId);
    this.sounds.delete(messageId);
  }

  /** The stored messages without their draft parts: a reader of the response in progress gets the drafts as chunks. */
  without(stored: Message[]): Message[] {
    return stored.flatMap((message) => {
      const count = this.saved.get(message.id) ?? message.parts.length;
      if (count === message.parts.length) return [message];
      return count === 0 ? [] : [{ ...message, parts: message.parts.slice(0, count) }];
    });
  }

  private soon(): () => void {
    const { clock, pace, isKept } = this.context;
    // The first draft of a message cannot wait: it determines the position of the message among the stored messages.
    this.hasTime = this.stored > 0 && isKept() && this.isTextOnly();
    const wait = pace.book({ isFirst: this.isFirst, isKept: this.hasTime });
    return clock.after(wait, () => this.write());
  }

  /** Whether only text was appended since the message was stored, and none of it was spoken. */
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
    const { store, key, pace, onFault } = this.context;
    const message = this.context.message();
    this.isFirst = false;
    this.hasTime = false;
    // Only one draft is written at a time. If the store has not finished the last one, plan another attempt.
    this.cancel = this.writing ? this.soon() : null;
    if (this.writing || !message || message.parts.length === 0) return;
    // A draft that fails is not repeated: the whole message is stored when it ends.
    const { length } = message.parts;
    const put = async () => {
      await store.putMessage(key, this.withSound(message));
      this.put(message, length);
    };
    const write = () => put().catch(onFault);
    this.writing = pace.spend(write).finally(() => {
      this.writing = null;
    });
  }

  private withSound(message: Message): Message {
    const audio = this.sounds.get(message.id);
    return audio ? { ...message, metadata: { ...message.metadata, audio } } : message;
  }
}
