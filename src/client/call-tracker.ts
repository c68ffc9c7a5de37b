import type { UIMessage } from 'ai';
import { type Chunk, CONFIRMATION_TOOL, type ToolFacts, type WaitingAnswer } from '../protocol/chunks.ts';
import { isSettled, type ToolCallState, toolNameOf, waitingFor } from '../protocol/tool-call.ts';
import { factsOf, type ToolPart, toolPartsOf } from './parts.ts';
import type { AnswerKind, AnswerMemory } from './resume.ts';

/** A tool call as the client knows it: what the server said of it, and what was answered. */
export interface TrackedCall extends ToolFacts {
  id: string;
  toolName: string;
  messageId: string;
  input: unknown;
  state: ToolCallState;
  approved?: boolean | undefined;
  approvalId?: string;
  /** The call in which the person confirmed this one, where a confirmation is a call of its own. */
  confirmation?: string | undefined;
}

/** An answer as the part that shows it. */
export type AnswerPart = Pick<ToolPart, 'toolCallId' | 'state'> & { approval?: { approved?: boolean } };

/** The calls of a conversation: what the server said about each, and which answers left. */
export class CallTracker implements AnswerMemory {
  readonly #calls = new Map<string, TrackedCall>();
  readonly #sent = new Set<string>();
  /** Confirmed calls, and the calls in which they were. */
  readonly #confirmed = new Map<string, string>();
  /** Calls that waited for an answer when the connection began, also of messages that came from elsewhere. */
  #awaited: ReadonlySet<string> = new Set();
  readonly #runnable: (toolName: string) => boolean;

  constructor(runnable: (toolName: string) => boolean) {
    this.#runnable = runnable;
  }

  /** Takes note of a chunk from the server. */
  push(chunk: Chunk, messageId: string): void {
    switch (chunk.type) {
      case 'tool-input-start':
        if (!this.#calls.has(chunk.toolCallId))
          this.#announce(chunk, messageId, 'input-streaming', undefined);
        return;
      case 'tool-input-available': {
        const known = this.#calls.get(chunk.toolCallId);
        if (known && isSettled(known.state)) return;
        this.#announce(chunk, messageId, 'input-available', chunk.input);
        return;
      }
      case 'tool-approval-request': {
        const call = this.#calls.get(chunk.toolCallId);
        if (!call || isSettled(call.state) || this.wasSent(call.id, 'decision')) return;
        call.state = 'approval-requested';
        call.approvalId = chunk.approvalId;
        call.asks = true;
        return;
      }
      case 'tool-output-available':
        if (chunk.preliminary === true) return;
        this.#confirm(this.#calls.get(chunk.toolCallId), chunk.output);
        return this.#settle(chunk.toolCallId, 'output-available');
      case 'tool-output-error':
        return this.#settle(chunk.toolCallId, 'output-error');
      case 'tool-output-denied':
        return this.#settle(chunk.toolCallId, 'output-denied');
      case 'data-settled':
        return this.#settle(chunk.data.toolCallId, 'output-error');
      default:
        // No other chunk is about a call.
        return;
    }
  }

  /**
   * Takes up the calls of a message as it stands; of what the server wrote, the decisions have left already. What is known
   * of a call stays, unless all begins anew (`reset`).
   */
  adopt(message: UIMessage, from: 'reset' | 'server' | 'page'): void {
    for (const part of toolPartsOf(message.parts)) {
      const { toolCallId: id, state, approval, input } = part;
      const isKnown = this.#calls.has(id);
      if (isKnown && from !== 'reset') continue;
      if (from !== 'page' && approval?.approved !== undefined) this.#markSent(id, 'decision');
      this.#calls.set(id, {
        ...factsOf(part.toolMetadata, approval !== undefined),
        id,
        toolName: String(toolNameOf(part)),
        messageId: message.id,
        input,
        state,
        ...(approval && { approvalId: approval.id }),
        approved: approval?.approved,
      });
    }
  }

  get(id: string): TrackedCall | undefined {
    return this.#calls.get(id);
  }

  /** The calls that are not settled, of one message or of all. */
  open(messageId?: string): TrackedCall[] {
    return [...this.#calls.values()].filter(
      (call) => !isSettled(call.state) && (messageId === undefined || call.messageId === messageId),
    );
  }

  /** Whether the message has calls, and all of them are settled. */
  areSettled(messageId: string): boolean {
    const own = [...this.#calls.values()].filter((call) => call.messageId === messageId);
    return own.length > 0 && own.every((call) => isSettled(call.state));
  }

  /** Whether the call waits for a person, or for a browser that has no executor for it. */
  isPaused(call: TrackedCall): boolean {
    if (this.wasSent(call.id, 'output') || call.optimistic) return false;
    const who = waitingFor(call);
    return who === 'person' || (who === 'client' && !this.#runnable(call.toolName));
  }

  /** The approved calls of a message whose output only the page can bring, as far as it still shows the approval alone. */
  approvedAlone(message: UIMessage): string[] {
    return toolPartsOf(message.parts).flatMap(({ toolCallId: id, state }) => {
      const call = this.#calls.get(id);
      const isAlone = state === 'approval-responded' && this.wasSent(id, 'decision');
      return isAlone && call && !isSettled(call.state) && this.isPaused(call) ? [id] : [];
    });
  }

  /** The chunk that shows the call as one that the page is to run; it no longer looks like an approval that was not sent. */
  announcementOf(id: string): Chunk | null {
    const call = this.#calls.get(id);
    if (!call) return null;
    const { toolName, input, runsOn, asks } = call;
    return { type: 'tool-input-available', toolCallId: id, toolName, input, toolMetadata: { runsOn, asks } };
  }

  /** Whether an executor should run for the call now. */
  isDue(call: TrackedCall): boolean {
    return waitingFor(call) === 'client' && !this.wasSent(call.id, 'output') && this.#runnable(call.toolName);
  }

  /** Answers leave for the server. */
  mark(answers: readonly AnswerPart[]): void {
    for (const { toolCallId, state, approval } of answers) {
      if (approval?.approved !== undefined) this.#decide(toolCallId, approval.approved);
      if (state === 'output-available' || state === 'output-error') this.#markSent(toolCallId, 'output');
    }
  }

  /** These answers did not arrive, or did not count, and may be given again. */
  unmark(answers: readonly AnswerPart[]): void {
    for (const { toolCallId } of answers) {
      this.#sent.delete(`decision ${toolCallId}`);
      this.#sent.delete(`output ${toolCallId}`);
    }
  }

  wasSent(id: string, kind: AnswerKind): boolean {
    return this.#sent.has(`${kind} ${id}`);
  }

  isSettled(id: string): boolean {
    const call = this.#calls.get(id);
    return call !== undefined && isSettled(call.state);
  }

  isOpen(id: string): boolean {
    const call = this.#calls.get(id);
    return call ? !isSettled(call.state) : this.#awaited.has(id);
  }

  /** These calls wait for an answer. */
  await(calls: readonly WaitingAnswer[]): void {
    this.#awaited = new Set(calls.map(({ toolCallId }) => toolCallId));
  }

  runs(toolName: string): boolean {
    return this.#runnable(toolName);
  }

  #decide(id: string, approved: boolean): void {
    this.#markSent(id, 'decision');
    const call = this.#calls.get(id);
    if (!call || isSettled(call.state)) return;
    call.asks = true;
    call.approved = approved;
    if (call.state === 'approval-requested') call.state = 'approval-responded';
  }

  #markSent(id: string, kind: AnswerKind): void {
    this.#sent.add(`${kind} ${id}`);
  }

  #announce(
    chunk: Extract<Chunk, { type: 'tool-input-start' | 'tool-input-available' }>,
    messageId: string,
    state: ToolCallState,
    input: unknown,
  ): void {
    const { toolCallId: id, toolName } = chunk;
    const known = this.#calls.get(id);
    // Only an approved browser call whose output is missing is announced again after its card.
    const confirmation = this.#confirmed.get(id);
    const isApproved = known?.state === 'approval-requested' || confirmation !== undefined;
    const approved = isApproved ? true : known?.approved;
    this.#calls.set(id, {
      ...factsOf(chunk.toolMetadata),
      id,
      toolName,
      messageId,
      input,
      state,
      approved,
      confirmation,
    });
  }

  /** A confirmation that was given approves the call it asked about, which is announced after it. */
  #confirm(call: TrackedCall | undefined, output: unknown): void {
    if (call?.toolName !== CONFIRMATION_TOOL) return;
    const { originalFunctionCall } = (call.input ?? {}) as { originalFunctionCall?: { id?: unknown } };
    const isConfirmed = (output as { confirmed?: unknown } | null)?.confirmed === true;
    if (isConfirmed && typeof originalFunctionCall?.id === 'string')
      this.#confirmed.set(originalFunctionCall.id, call.id);
  }

  #settle(id: string, state: ToolCallState): void {
    const call = this.#calls.get(id);
    if (call) call.state = state;
  }
}

/** The call that a chunk ends, or null. */
export function endedCall(chunk: Chunk): string | null {
  switch (chunk.type) {
    case 'tool-output-available':
    case 'tool-output-error':
    case 'tool-output-denied':
      return chunk.toolCallId;
    case 'data-settled':
      return chunk.data.toolCallId;
    default:
      return null;
  }
}
