import type { Chunk } from '../../protocol/chunks.ts';
import type { ToolCalls } from '../tool-calls.ts';

/**
 * Decides where a step ends for the page. The wire has no step boundary between tool calls and the text after them; but the tool-calls
 * helper of the AI SDK looks at the last step, and would send its settled calls again after every response.
 */
export class StepBoundaries {
  readonly #calls: ToolCalls;
  /** Messages with a step boundary after all of their calls. */
  readonly #ended = new Set<string>();

  constructor(calls: ToolCalls) {
    this.#calls = calls;
  }

  /** Whether a step boundary belongs before the chunk. A call without an outcome stays in the last step, where the helpers look for it. */
  isBefore(chunk: Chunk, messageId: string): boolean {
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
        if (this.#ended.has(messageId) || !this.#calls.areSettled(messageId)) return false;
        this.#ended.add(messageId);
        return true;
      default:
        return false;
    }
  }
}

/**
 * Passes the chunks of a message to one response. A response may start in the middle of a message, and the AI SDK fails on a delta
 * without a start or on the outcome of an unknown call: the reader adds and drops chunks so that the response is complete in itself.
 */
export class MessageReader {
  readonly #messageId: string;
  readonly #calls: ToolCalls;
  readonly #steps: StepBoundaries;
  /** Text and reasoning blocks that started in this response and have not ended. */
  readonly #blocks = new Map<string, 'text' | 'reasoning'>();
  /** Whether the last chunk was a step boundary, which is passed on only when no approval request follows it. */
  #isStepHeld = false;

  constructor(messageId: string, calls: ToolCalls, steps: StepBoundaries) {
    this.#messageId = messageId;
    this.#calls = calls;
    this.#steps = steps;
  }

  /** Whether a block has started and not ended: the response does not end inside a block. */
  get isInBlock(): boolean {
    return this.#blocks.size > 0;
  }

  push(chunk: Chunk): Chunk[] {
    const isHeld = this.#isStepHeld;
    this.#isStepHeld = chunk.type === 'start-step';
    switch (chunk.type) {
      case 'start-step':
        // The step around an approval request is dropped: the helper of the AI SDK looks for the call in the last step.
        return isHeld ? this.#pass(chunk) : [];
      case 'finish-step':
        return [];
      case 'tool-approval-request':
        return this.#calls.get(chunk.toolCallId) ? this.#pass(chunk) : [];
      default:
        return [...(isHeld ? this.#pass({ type: 'start-step' }) : []), ...this.#complete(chunk)];
    }
  }

  /** Ends the response: ends the blocks that started in it. */
  end(): Chunk[] {
    const ends = [...this.#blocks].map(([id, kind]): Chunk => ({ type: `${kind}-end`, id }));
    this.#blocks.clear();
    return ends;
  }

  #complete(chunk: Chunk): Chunk[] {
    const blocks = this.#blocks;
    switch (chunk.type) {
      case 'text-start':
      case 'reasoning-start': {
        const isOpen = blocks.has(chunk.id);
        blocks.set(chunk.id, chunk.type === 'text-start' ? 'text' : 'reasoning');
        return isOpen ? [] : this.#pass(chunk);
      }
      case 'text-delta':
      case 'reasoning-delta': {
        if (blocks.has(chunk.id)) return this.#pass(chunk);
        const kind = chunk.type === 'text-delta' ? 'text' : 'reasoning';
        blocks.set(chunk.id, kind);
        return [...this.#pass({ type: `${kind}-start`, id: chunk.id }), ...this.#pass(chunk)];
      }
      case 'text-end':
      case 'reasoning-end':
        return blocks.delete(chunk.id) ? this.#pass(chunk) : [];
      case 'tool-output-available':
      case 'tool-output-error':
      case 'tool-output-denied':
        return this.#calls.get(chunk.toolCallId) ? this.#pass(chunk) : [];
      default:
        return this.#pass(chunk);
    }
  }

  #pass(chunk: Chunk): Chunk[] {
    const isBoundary = this.#steps.isBefore(chunk, this.#messageId);
    return isBoundary ? [...this.#pass({ type: 'start-step' }), chunk] : [chunk];
  }
}
