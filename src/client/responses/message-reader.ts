import type { Chunk } from '../../protocol/chunks.ts';
import type { ToolCalls } from '../tool-calls.ts';

/** Receives the chunks of a response. */
export interface ResponseSink {
  write(chunk: Chunk): void;
  end(): void;
}

/** The state that all readers of a message share. */
export interface ReaderContext {
  messageId: string;
  calls: ToolCalls;
  /** Whether the page already got a `start-step` chunk after the calls of the message. */
  isStepEnded: boolean;
}

/**
 * Passes the chunks of a message to one response. A response may start in the middle of a message, but the AI SDK fails on a delta
 * without a start chunk and on the outcome of an unknown call. So the reader adds missing start chunks, and drops chunks of unknown
 * calls.
 */
export class MessageReader {
  readonly sink: ResponseSink;
  readonly #context: ReaderContext;
  /** Text and reasoning blocks that started in this response and have not ended. */
  readonly #blocks = new Map<string, 'text' | 'reasoning'>();
  /** Whether the last chunk was a `start-step`. The reader passes it on before the next chunk, unless that is an approval request or a `finish-step`. */
  #isStepHeld = false;

  constructor(sink: ResponseSink, context: ReaderContext) {
    this.sink = sink;
    this.#context = context;
  }

  /** Whether a block has started and not ended. A response must not end inside a block. */
  get isInBlock(): boolean {
    return this.#blocks.size > 0;
  }

  push(chunk: Chunk): void {
    const isHeld = this.#isStepHeld;
    this.#isStepHeld = chunk.type === 'start-step';
    // Drop the step around an approval request. `lastAssistantMessageIsCompleteWithApprovalResponses` of the AI SDK looks for the call in
    // the last step, and would not find it there after a new step.
    if (isHeld && chunk.type !== 'finish-step' && chunk.type !== 'tool-approval-request')
      this.#pass({ type: 'start-step' });
    const blocks = this.#blocks;
    switch (chunk.type) {
      case 'start-step':
      case 'finish-step':
        return;
      case 'text-start':
      case 'reasoning-start': {
        const isOpen = blocks.has(chunk.id);
        blocks.set(chunk.id, chunk.type === 'text-start' ? 'text' : 'reasoning');
        if (!isOpen) this.#pass(chunk);
        return;
      }
      case 'text-delta':
      case 'reasoning-delta': {
        if (blocks.has(chunk.id)) return this.#pass(chunk);
        const kind = chunk.type === 'text-delta' ? 'text' : 'reasoning';
        blocks.set(chunk.id, kind);
        this.#pass({ type: `${kind}-start`, id: chunk.id });
        return this.#pass(chunk);
      }
      case 'text-end':
      case 'reasoning-end':
        if (blocks.delete(chunk.id)) this.#pass(chunk);
        return;
      case 'tool-approval-request':
      case 'tool-output-available':
      case 'tool-output-error':
      case 'tool-output-denied':
        if (this.#context.calls.get(chunk.toolCallId)) this.#pass(chunk);
        return;
      default:
        this.#pass(chunk);
    }
  }

  /** Ends the response, and the blocks that started in it. */
  end(): void {
    for (const [id, kind] of this.#blocks) this.sink.write({ type: `${kind}-end`, id });
    this.sink.end();
  }

  #pass(chunk: Chunk): void {
    if (this.#isStepOver(chunk)) this.#pass({ type: 'start-step' });
    this.sink.write(chunk);
  }

  /**
   * Whether a `start-step` has to be added before the chunk. The server sends none between tool calls and the text after them. But
   * `lastAssistantMessageIsCompleteWithToolCalls` of the AI SDK reads the calls of the last step, and would make the chat send calls with
   * an outcome again after every response. A call without an outcome stays in the last step, where the AI SDK looks for it.
   */
  #isStepOver(chunk: Chunk): boolean {
    const context = this.#context;
    switch (chunk.type) {
      case 'start-step':
        context.isStepEnded = true;
        return false;
      case 'tool-input-start':
      case 'tool-input-available':
        context.isStepEnded = false;
        return false;
      case 'text-start':
      case 'reasoning-start':
      case 'finish':
        return !context.isStepEnded && context.calls.areSettled(context.messageId);
      default:
        return false;
    }
  }
}
