import type { Message, MessageMetadata } from '../../protocol/index.ts';
import type { Clock } from '../clock.ts';
import { isWords } from '../log/take-over.ts';
import type { OwnedKey, Store } from '../store/store.ts';

/** Lets many writers share one timer: each that asks is woken at the end of the current window. */
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
 * Tells one reader when what has arrived should leave. What a person waits for never waits; words leave at once when nothing
 * left within the last window, and gather otherwise, no longer than a window.
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

  /** Something arrived that is to be sent. Asked for every token: while words gather, nothing is looked up. */
  arrived(type: string | undefined): void {
    const isWord = type === 'text-delta' || type === 'reasoning-delta';
    if (isWord && this.isPlanned) return;
    if (isWord && !this.window.isOverSince(this.leftAt)) this.later();
    else this.leave();
  }

  /** What there is leaves at the end of the window. */
  later(): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    this.window.wake(() => {
      this.isPlanned = false;
      this.leave();
    });
  }

  /** Something left just now. */
  left(): void {
    this.leftAt = this.window.now();
  }
}

/** Beats for all idle connections with one timer, and rests when there is none. */
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

/** The part of the time that may go into drafts, all sessions together. */
const SHARE = 0.005;
/** How long what is said may be in memory only: at least, because nobody reads faster, and at most. */
const MIN_MS = 100;
const MAX_MS = 1000;
/** The same for what a new owner finds in the log: a draft is for the loss of both, and the fewer the better. */
const KEPT_MS = 12_000;

/** Says how soon a draft may be written, so that those of all sessions together take a small part of the time. */
export class DraftPace {
  private readonly clock: Clock;
  /** What a draft takes: as long as the last one did. Before the first, a guess. */
  private costMs = 0.5;
  /** Until when the drafts that are to be written use up their share. */
  private bookedUntil = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /**
   * How long from now the next draft of a session waits; its time is booked, so that those who begin together do not write together.
   * The first words of a message are kept at once, if that can be afforded. `isKept`: in a log that outlives the process.
   */
  book({ isFirst, isKept = false }: { isFirst: boolean; isKept?: boolean }): number {
    const now = this.clock.elapsed();
    const free = Math.max(this.bookedUntil, now);
    this.bookedUntil = Math.min(free + this.costMs / SHARE, now + MAX_MS);
    if (isKept) return KEPT_MS + free - now;
    return Math.max(isFirst ? 0 : MIN_MS, free - now);
  }

  /** Measures what writing a draft takes. */
  async spend(write: () => Promise<unknown>): Promise<void> {
    const began = this.clock.elapsed();
    await write();
    this.costMs = this.clock.elapsed() - began;
  }
}

type Sound = NonNullable<MessageMetadata['audio']>;

/** What the drafts of a session need from around them. */
export interface DraftsContext {
  store: Store;
  key: OwnedKey;
  clock: Clock;
  pace: DraftPace;
  /** The message that is being written. */
  message: () => Message | null;
  /** Whether all that was said of it is in a log that outlives this process. */
  isKept: () => boolean;
  /** A draft was not kept. */
  onFault: (error: unknown) => void;
}

/** Keeps the message that is being written now and then, for a process that dies before its end. */
export class Drafts {
  private readonly context: DraftsContext;
  /** How many parts a message had when it was saved last, drafts apart. */
  private readonly saved = new Map<string, number>();
  /** The sound of each message so far: in drafts alone, until the end of the message says it. */
  private readonly sounds = new Map<string, Sound>();
  private cancel: (() => void) | null = null;
  /** Whether the next draft has time, because a new owner would find what was said in the log. */
  private hasTime = false;
  /** So many parts of the message are stored, be it as a draft. */
  private stored = 0;
  /** Whether nothing of the message was kept since its `start`. */
  private isFirst = true;
  private writing: Promise<void> | null = null;

  constructor(context: DraftsContext) {
    this.context = context;
  }

  /** A message as it is stored, or a new one. */
  know({ id, parts }: Message): void {
    this.saved.set(id, parts.length);
  }

  /** A message is being written from now on. */
  begin(messageId: string): void {
    this.isFirst = true;
    this.stored = this.saved.get(messageId) ?? 0;
  }

  /** Something was said. */
  said(): void {
    // A new owner takes words from the log, and everything else from the store.
    if (this.hasTime && !this.isWordsOnly()) this.drop();
    this.cancel ??= this.soon();
  }

  /**
   * Counts a piece of sound of a message. Sound is in no log: from this count in a draft, and from the missing end, the next owner knows that
   * the message was being spoken when its process died, and how much of it was sent. So drafts of a spoken message never have time.
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

  /** So many parts of a message are stored. */
  put(message: Message, parts: number): void {
    if (message !== this.context.message()) return;
    this.stored = parts;
    // What was planned before may have time now.
    if (!this.cancel || !this.context.isKept() || !this.isWordsOnly()) return;
    this.drop();
    this.cancel = this.soon();
  }

  /** Forgets that something was said since the message was saved. */
  drop(): void {
    this.cancel?.();
    this.cancel = null;
    this.hasTime = false;
  }

  /** Resolves when a message may be saved: a draft must not come after what it is a draft of. Nothing to wait for when none is being written. */
  get written(): Promise<void> | null {
    return this.writing;
  }

  /** A message that is over. */
  release(messageId: string): void {
    this.saved.delete(messageId);
    this.sounds.delete(messageId);
  }

  /** Stored messages without what is only a draft: whoever reads the response in progress gets that from its chunks. */
  without(stored: Message[]): Message[] {
    return stored.flatMap((message) => {
      const count = this.saved.get(message.id) ?? message.parts.length;
      if (count === message.parts.length) return [message];
      return count === 0 ? [] : [{ ...message, parts: message.parts.slice(0, count) }];
    });
  }

  private soon(): () => void {
    const { clock, pace, isKept } = this.context;
    // The first one is not spared: from then on the message has its place among the others.
    this.hasTime = this.stored > 0 && isKept() && this.isWordsOnly();
    const wait = pace.book({ isFirst: this.isFirst, isKept: this.hasTime });
    return clock.after(wait, () => this.write());
  }

  /** Whether nothing but words was said since the message was stored, and none of them aloud. */
  private isWordsOnly(): boolean {
    const { id = '', parts = [] } = this.context.message() ?? {};
    if (this.sounds.has(id)) return false;
    for (let index = this.stored; index < parts.length; index++) {
      const part = parts[index];
      if (part && !isWords(part)) return false;
    }
    return true;
  }

  private write(): void {
    const { store, key, pace, onFault } = this.context;
    const message = this.context.message();
    this.isFirst = false;
    this.hasTime = false;
    // A store that is slower than its drafts gets one at a time.
    this.cancel = this.writing ? this.soon() : null;
    if (this.writing || !message || message.parts.length === 0) return;
    // What cannot be kept now is tried again when the message ends.
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
