import type { Message } from '../protocol/index.ts';
import type { Clock } from './clock.ts';
import type { DraftPace } from './draft-pace.ts';
import type { OwnedKey, Store } from './store/store.ts';

/** What the drafts of a session need from around them. */
export interface DraftsContext {
  store: Store;
  key: OwnedKey;
  clock: Clock;
  pace: DraftPace;
  /** The message that is being written. */
  message: () => Message | null;
  /** A draft was not kept. */
  onFault: (error: unknown) => void;
}

/** Keeps the message that is being written now and then, for a process that dies before its end. */
export class Drafts {
  private readonly context: DraftsContext;
  /** How many parts a message had when it was saved last, drafts apart. */
  private readonly saved = new Map<string, number>();
  private cancel: (() => void) | null = null;
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
  begin(): void {
    this.isFirst = true;
  }

  /** Something was said. */
  said(): void {
    this.cancel ??= this.soon();
  }

  /** Forgets that something was said since the message was saved. */
  drop(): void {
    this.cancel?.();
    this.cancel = null;
  }

  /** Resolves when a message may be saved: a draft must not come after what it is a draft of. Nothing to wait for when none is being written. */
  get written(): Promise<void> | null {
    return this.writing;
  }

  /** A message that is over. */
  release(messageId: string): void {
    this.saved.delete(messageId);
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
    const { clock, pace } = this.context;
    return clock.after(pace.book({ isFirst: this.isFirst }), () => this.write());
  }

  private write(): void {
    const { store, key, pace, onFault } = this.context;
    const message = this.context.message();
    this.isFirst = false;
    // A store that is slower than its drafts gets one at a time.
    this.cancel = this.writing ? this.soon() : null;
    if (this.writing || !message || message.parts.length === 0) return;
    // What cannot be kept now is tried again when the message ends.
    const write = () => store.putMessage(key, message).catch(onFault);
    this.writing = pace.spend(write).finally(() => {
      this.writing = null;
    });
  }
}
