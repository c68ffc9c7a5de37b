import type { Chunk } from '../protocol/chunks.ts';
import type { CallTracker } from './call-tracker.ts';

/**
 * Says where a step ends for the page. The wire has no steps between what the agent calls and what it says next, and the
 * SDK's tool-calls helper, which looks at the last step, would send its settled calls again after every response.
 */
export class Steps {
  readonly #calls: CallTracker;
  /** Messages whose calls are all behind a step. */
  readonly #ended = new Set<string>();

  constructor(calls: CallTracker) {
    this.#calls = calls;
  }

  /** Whether a step must begin before the chunk. A call that is still open stays in the last step: the helpers look for it there. */
  beginsBefore(chunk: Chunk, messageId: string): boolean {
    switch (chunk.type) {
      case 'start-step':
        this.#ended.add(messageId);
        return false;
      case 'tool-input-start':
      case 'tool-input-available':
        this.#ended.delete(messageId);
        return false;
      case 'text-start':
      case 'reasoning-start':
      case 'finish':
        return this.#end(messageId);
      default:
        return false;
    }
  }

  #end(messageId: string): boolean {
    if (this.#ended.has(messageId) || !this.#calls.areSettled(messageId)) return false;
    this.#ended.add(messageId);
    return true;
  }
}
