import type { Chunk } from '../../protocol/index.ts';

/**
 * What was told so far. The machine decides as if every write succeeded: when one fails, what was to be told after it is dropped, and
 * so is everything that builds on that. A chunk of a message whose `start` was never told, or the output of a call that nobody heard
 * of, is not told either.
 */
export class Told {
  /** The message of the last `start`. */
  private current: string | null = null;
  /** Calls that were announced and have no end yet. */
  private readonly calls: Set<string>;

  constructor(calls: Iterable<string> = []) {
    this.calls = new Set(calls);
  }

  start(messageId: string): void {
    this.current = messageId;
  }

  /** Whether a chunk of a message may be told. */
  mayTell(messageId: string, chunk: Chunk): boolean {
    if (this.current !== messageId) return false;
    switch (chunk.type) {
      case 'tool-input-start':
        this.calls.add(chunk.toolCallId);
        return true;
      case 'tool-input-available':
      case 'tool-approval-request':
        return this.calls.has(chunk.toolCallId);
      case 'tool-output-available':
      case 'tool-output-error':
      case 'tool-output-denied':
        return this.calls.delete(chunk.toolCallId);
      default:
        return true;
    }
  }

  /** Whether the end of a message may be told. */
  mayFinish(messageId: string): boolean {
    if (this.current !== messageId) return false;
    this.current = null;
    return true;
  }
}
