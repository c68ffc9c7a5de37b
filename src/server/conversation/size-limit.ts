import { ProtocolError } from '../../protocol/index.ts';
import { base64Bytes } from '../../protocol/limits.ts';
import type { AdmittedPart } from '../files.ts';
import type { SessionKey, Store } from '../store/store.ts';

/** After so many messages the size is read from the store again: answers and tool outputs are not counted in between. */
const MESSAGES = 16;

/** Refuses messages to a session that has reached its size limit. */
export class SizeLimit {
  private readonly store: Store;
  private readonly key: SessionKey;
  private readonly maxBytes: number;
  /** The size that the store reported, and the bytes of the messages since. */
  private bytes: number;
  private left: number;

  /** `isNew`: nothing is stored yet. */
  constructor(store: Store, key: SessionKey, { maxBytes, isNew }: { maxBytes: number; isNew: boolean }) {
    this.store = store;
    this.key = key;
    this.maxBytes = maxBytes;
    this.bytes = 0;
    this.left = isNew ? MESSAGES : 0;
  }

  /** Throws `session_full` when a message does not fit. Returns a promise when the size has to be read from the store. */
  check(parts: readonly AdmittedPart[]): Promise<void> | undefined {
    if (this.left > 0) return this.count(parts);
    return this.store.sessionBytes(this.key).then((bytes) => {
      this.bytes = bytes;
      this.left = MESSAGES;
      this.count(parts);
    });
  }

  private count(parts: readonly AdmittedPart[]): undefined {
    for (const part of parts) {
      // A text is stored twice, as a message and as an event; a file once.
      this.bytes += part.type === 'text' ? 2 * Buffer.byteLength(part.text) : base64Bytes(part.data);
    }
    this.left--;
    if (this.bytes <= this.maxBytes) return;
    // The refused message was counted, but is not stored: read the size again next time.
    this.left = 0;
    throw new ProtocolError('session_full', FULL);
  }
}

const FULL = 'This conversation is full: it has reached its size limit. Start a new conversation.';
