import type { Chunk } from './chunks.ts';
import { isSettled, type ToolCallState, transition } from './tool-call.ts';

/** What a stream of chunks is checked as: SSE has no steps around approvals, BIDI has. */
export type GrammarMode = 'sse' | 'bidi';

/**
 * Checks the order of the chunks of one session, response after response. `push` returns what is wrong with a
 * chunk, in words; an empty list means nothing.
 */
export class Grammar {
  private readonly mode: GrammarMode;
  private readonly calls = new Map<string, ToolCallState>();
  private open = new Map<string, 'text' | 'reasoning'>();
  private started = false;
  private finished = false;
  private inStep = false;

  constructor(mode: GrammarMode) {
    this.mode = mode;
  }

  push(chunk: Chunk): string[] {
    const wrong: string[] = [];
    const say = (message: string) => wrong.push(`${chunk.type}: ${message}`);
    if (chunk.type.startsWith('data-') && 'transient' in chunk && chunk.transient) return wrong;
    if (chunk.type === 'start') {
      if (this.open.size > 0) say('a text block of the message before is still open');
      this.started = true;
      this.finished = false;
      return wrong;
    }
    if (!this.started) say('comes before any start');
    if (this.finished) say('comes after finish, without a start');
    switch (chunk.type) {
      case 'text-start':
      case 'reasoning-start':
        if (this.open.has(chunk.id)) say(`block ${chunk.id} is open already`);
        this.open.set(chunk.id, chunk.type === 'text-start' ? 'text' : 'reasoning');
        break;
      case 'text-delta':
      case 'reasoning-delta':
      case 'text-end':
      case 'reasoning-end':
        if (this.open.get(chunk.id) !== chunk.type.split('-')[0]) say(`block ${chunk.id} is not open`);
        if (chunk.type.endsWith('-end')) this.open.delete(chunk.id);
        break;
      case 'start-step':
        if (this.inStep) say('a step is open already');
        this.inStep = true;
        break;
      case 'finish-step':
        if (this.mode === 'sse') say('SSE carries no finish-step');
        if (this.open.size > 0) say('a text block is still open');
        if (!this.inStep) say('no step is open');
        this.inStep = false;
        break;
      case 'tool-input-start':
        if (this.calls.has(chunk.toolCallId)) say(`call ${chunk.toolCallId} is known already`);
        this.calls.set(chunk.toolCallId, 'input-streaming');
        break;
      case 'tool-input-available':
        // A repeated input of a call that waits for the browser is how the server asks again.
        if (this.calls.get(chunk.toolCallId) !== 'approval-requested')
          this.move(chunk.toolCallId, 'input', say);
        break;
      case 'tool-approval-request':
        if (this.open.size > 0) say('a text block is still open');
        if (this.mode === 'bidi' && !this.inStep) say('stands outside a step');
        if (this.mode === 'sse' && this.inStep) say('stands inside a step');
        this.move(chunk.toolCallId, 'ask', say);
        break;
      case 'tool-output-available':
        if (this.calls.get(chunk.toolCallId) === 'approval-requested')
          this.move(chunk.toolCallId, 'approve', say);
        this.move(chunk.toolCallId, 'output', say);
        break;
      case 'tool-output-error':
        this.move(chunk.toolCallId, 'fail', say);
        break;
      case 'tool-output-denied':
        if (this.calls.get(chunk.toolCallId) === 'approval-requested')
          this.move(chunk.toolCallId, 'deny', say);
        this.move(chunk.toolCallId, 'refuse', say);
        break;
      case 'finish':
        if (this.open.size > 0) say('a text block is still open');
        if (this.mode === 'bidi' && this.inStep) say('a step is still open');
        this.inStep = false;
        this.finished = true;
        break;
    }
    return wrong;
  }

  /** What is wrong when the stream ends here. */
  end(): string[] {
    const wrong: string[] = [];
    if (this.open.size > 0) wrong.push(`end: text blocks left open: ${[...this.open.keys()].join(', ')}`);
    if (this.started && !this.finished) wrong.push('end: no finish');
    return wrong;
  }

  /** The calls that are not settled. */
  openCalls(): string[] {
    return [...this.calls].filter(([, state]) => !isSettled(state)).map(([id]) => id);
  }

  private move(id: string, event: Parameters<typeof transition>[1], say: (message: string) => void): void {
    const state = this.calls.get(id);
    if (!state) {
      say(`call ${id} was never announced`);
      return;
    }
    const next = transition(state, event);
    if (next) this.calls.set(id, next);
    else say(`call ${id} is ${state}`);
  }
}
