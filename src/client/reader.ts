import type { Chunk } from '../protocol/chunks.ts';
import type { CallTracker } from './call-tracker.ts';
import type { Steps } from './steps.ts';

/** Gives the chunks of one message to one response, in a form that the SDK takes from a stream that may begin anywhere. */
export class Reader {
  readonly #messageId: string;
  readonly #calls: CallTracker;
  readonly #steps: Steps;
  /** Text and reasoning blocks that the response saw begin and not end. */
  readonly #blocks = new Map<string, 'text' | 'reasoning'>();
  /** A step began, and what it is for has not come yet. */
  #isStepHeld = false;

  constructor(messageId: string, calls: CallTracker, steps: Steps) {
    this.#messageId = messageId;
    this.#calls = calls;
    this.#steps = steps;
  }

  /** Whether a block is open: no pause cuts it. */
  get isInBlock(): boolean {
    return this.#blocks.size > 0;
  }

  push(chunk: Chunk): Chunk[] {
    const isHeld = this.#isStepHeld;
    this.#isStepHeld = chunk.type === 'start-step';
    switch (chunk.type) {
      case 'start-step':
        // A step around an approval request is not shown: the SDK's helper looks for the call in the last step.
        return isHeld ? this.#show(chunk) : [];
      case 'finish-step':
        return [];
      case 'tool-approval-request':
        return this.#calls.get(chunk.toolCallId) ? this.#show(chunk) : [];
      default:
        return [...(isHeld ? this.#show({ type: 'start-step' }) : []), ...this.#translate(chunk)];
    }
  }

  /** The response ends: so do the blocks that it saw begin. */
  end(): Chunk[] {
    const ends = [...this.#blocks].map(([id, kind]): Chunk => ({ type: `${kind}-end`, id }));
    this.#blocks.clear();
    return ends;
  }

  #translate(chunk: Chunk): Chunk[] {
    const blocks = this.#blocks;
    switch (chunk.type) {
      case 'text-start':
      case 'reasoning-start': {
        const isOpen = blocks.has(chunk.id);
        blocks.set(chunk.id, chunk.type === 'text-start' ? 'text' : 'reasoning');
        return isOpen ? [] : this.#show(chunk);
      }
      case 'text-delta':
      case 'reasoning-delta': {
        const kind = chunk.type === 'text-delta' ? 'text' : 'reasoning';
        const start: Chunk[] = blocks.has(chunk.id)
          ? []
          : this.#show({ type: `${kind}-start`, id: chunk.id });
        blocks.set(chunk.id, kind);
        return [...start, ...this.#show(chunk)];
      }
      case 'text-end':
      case 'reasoning-end':
        return blocks.delete(chunk.id) ? this.#show(chunk) : [];
      case 'tool-output-available':
      case 'tool-output-error':
      case 'tool-output-denied':
        // The SDK gives up on a stream that names a call it never saw.
        return this.#calls.get(chunk.toolCallId) ? this.#show(chunk) : [];
      default:
        return this.#show(chunk);
    }
  }

  #show(chunk: Chunk): Chunk[] {
    const isStep = this.#steps.beginsBefore(chunk, this.#messageId);
    return isStep ? [...this.#show({ type: 'start-step' }), chunk] : [chunk];
  }
}
