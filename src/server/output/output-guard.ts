import type { Chunk } from '../../protocol/index.ts';
import type { Purpose } from '../conversation/state/effects.ts';

/**
 * Discards output that depends on a failed write. The state decides as if every write succeeded. When a write fails, the effects that follow it are
 * discarded, but later effects may depend on those: a chunk of a message whose `start` was never sent, or the output of a call that was never
 * announced. These are discarded here.
 */
export class OutputGuard {
  /** The id of the message whose `start` was sent last; null when the last `start` was withheld, or when the message has finished since. */
  private current: string | null = null;
  /** The ids of calls whose input was sent, and whose outcome was not. */
  private readonly calls: Set<string>;
  /** The ids of assistant messages that answer a user message which could not be stored, until the state has forgotten them. */
  private readonly withheld = new Set<string>();

  constructor(calls: Iterable<string> = []) {
    this.calls = new Set(calls);
  }

  /** Whether the `start` of a message may be sent. If so, the caller must send it, because the guard records it as sent. */
  start(messageId: string): boolean {
    const isSent = !this.withheld.has(messageId);
    this.current = isSent ? messageId : null;
    return isSent;
  }

  /**
   * Records a failed write. When a user message could not be stored, the state forgets its answer. But if the state had switched to another message
   * and back before it got the failure, the effect queue still has a `start` of that answer, which must not be sent.
   */
  writeFailed(purpose: Purpose | null): void {
    if (purpose?.for === 'message' && !purpose.isStored && purpose.messageId !== null)
      this.withheld.add(purpose.messageId);
  }

  /** Call it when the state has forgotten the message. The next `start` with its id then starts a new message. */
  release(messageId: string): void {
    this.withheld.delete(messageId);
  }

  /** Whether a chunk of a message may be sent. If so, the caller must send it, because the guard records it as sent. */
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

  /** Whether the end of a response of a message may be sent. If so, the caller must send it, because the guard records it as sent. */
  mayFinish(messageId: string): boolean {
    if (this.current !== messageId) return false;
    this.current = null;
    return true;
  }
}
