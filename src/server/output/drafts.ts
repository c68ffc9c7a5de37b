import type { Message, MessageMetadata } from '../../protocol/index.ts';
import type { Clock } from '../clock.ts';
import { isWords } from '../log/take-over.ts';
import type { OwnedKey, Store } from '../store/store.ts';
import type { DraftPace } from './draft-pace.ts';

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
