import type { Chunk } from '../../protocol/index.ts';
import type { Purpose } from '../conversation/state/effects.ts';

/**
 * Discards output that depends on a failed write. The state decides as if every write succeeded. When a write fails, the effects after it are discarded, and
 * so is everything that depends on them: a chunk of a message whose `start` was never sent, or the output of a call that was never announced.
 */
export class OutputGuard {
  /** The message of the last `start`. */
  private current: string | null = null;
  /** Calls that were announced and have no outcome yet. */
  private readonly calls: Set<string>;
  /** The ids of answers to user messages that could not be stored, until the state has forgotten them. */
  private readonly withheld = new Set<string>();

  constructor(calls: Iterable<string> = []) {
    this.calls = new Set(calls);
  }

  /** Whether the `start` of a message may be sent. */
  start(messageId: string): boolean {
    const isSent = !this.withheld.has(messageId);
    this.current = isSent ? messageId : null;
    return isSent;
  }

  /**
   * Notes a failed write. When a user message could not be stored, the state forgets its answer. If the state switched to another message and
   * back before the failure, the queue still has a `start` of that answer: it is not sent.
   */
  writeFailed(purpose: Purpose | null): void {
    if (purpose?.for === 'message' && !purpose.isStored && purpose.messageId !== null)
      this.withheld.add(purpose.messageId);
  }

  /** Call it when the state has forgotten the message: the next `start` with its id begins a new message and may be sent. */
  release(messageId: string): void {
    this.withheld.delete(messageId);
  }

  /** Whether a chunk of a message may be sent. */
  maySend(messageId: string, chunk: Chunk): boolean {
    if (this.current !== messageId) return false;
    switch (chunk.type) {
      case 'tool-input-start':
        this.calls.add(chunk.toolCallId);
        return true;
      case 'tool-input-available':
      case 'tool-approval-request':
        return this.calls.has(chunk.toolCallId);
      case 'tool-output-available':
        return chunk.preliminary ? this.calls.has(chunk.toolCallId) : this.calls.delete(chunk.toolCallId);
      case 'tool-output-error':
      case 'tool-output-denied':
        return this.calls.delete(chunk.toolCallId);
      default:
        return true;
    }
  }

  /** Whether the end of a message may be sent. */
  mayFinish(messageId: string): boolean {
    if (this.current !== messageId) return false;
    this.current = null;
    return true;
  }
}
