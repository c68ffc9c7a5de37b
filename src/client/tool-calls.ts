import type { UIMessage } from 'ai';
import { type Chunk, CONFIRMATION_TOOL, type ToolFacts, type WaitingAnswer } from '../protocol/chunks.ts';
import { isSettled, type ToolCallState, toolNameOf, waitingFor } from '../protocol/tool-call.ts';

/** A message part that shows a tool call, in any state. */
export interface ToolPart {
  type: string;
  toolCallId: string;
  state: ToolCallState;
  toolName?: string;
  input?: unknown;
  output?: unknown;
  errorText?: string;
  toolMetadata?: unknown;
  providerExecuted?: boolean;
  preliminary?: boolean;
  approval?: { id: string; approved?: boolean; reason?: string; payload?: unknown };
}

/** The fields of a part that make it an answer: a decision, an output or a failure. */
export type AnswerPart = Pick<ToolPart, 'toolCallId' | 'state'> & { approval?: { approved?: boolean } };

/** The two kinds of answer to a call: the decision of the user, and the output of the browser. */
export type AnswerKind = 'decision' | 'output';

/** What a transport knows about the calls of its chat. The resume rule (`resumeWhen`) reads it. */
export interface AnswerMemory {
  /** Whether the transport sent an answer of that kind to the call. */
  wasSent(toolCallId: string, kind: AnswerKind): boolean;
  /** Whether the server sent the outcome of the call. */
  isSettled(toolCallId: string): boolean;
  /** Whether the server announced the call, or named it in its session info as waiting, and has not sent its outcome. */
  isOpen(toolCallId: string): boolean;
  /** Whether the transport runs that tool itself and sends its output. */
  runs(toolName: string): boolean;
}

/** A tool call as the client knows it: the facts that the server sent, and the user's decision. */
export interface TrackedCall extends ToolFacts {
  id: string;
  toolName: string;
  messageId: string;
  input: unknown;
  state: ToolCallState;
  approved?: boolean | undefined;
  approvalId?: string;
  /** The id of the call of the confirmation tool in which the user approved this call. */
  confirmation?: string | undefined;
}

/** Owns the calls of a conversation: the facts that the server sent about each, and the answers that the page sent. */
export class ToolCalls implements AnswerMemory {
  readonly #calls = new Map<string, TrackedCall>();
  readonly #sent = new Set<string>();
  /** Maps the id of a confirmed call to the id of the call of the confirmation tool that approved it. */
  readonly #confirmed = new Map<string, string>();
  /** The ids of the calls that waited for an answer when the newest link opened, even in messages whose chunks this page never got. */
  #awaited: ReadonlySet<string> = new Set();
  readonly #runnable: ReadonlySet<string>;

  /** `toolNames`: the browser tools that the transport runs. */
  constructor(toolNames: Iterable<string>) {
    this.#runnable = new Set(toolNames);
  }

  /** Records a chunk of a message. */
  observe(chunk: Chunk, messageId: string): void {
    switch (chunk.type) {
      case 'tool-input-start':
        if (!this.#calls.has(chunk.toolCallId))
          this.#announce(chunk, messageId, 'input-streaming', undefined);
        return;
      case 'tool-input-available':
        if (!this.isSettled(chunk.toolCallId))
          this.#announce(chunk, messageId, 'input-available', chunk.input);
        return;
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
        // No other chunk changes a call here. The receiver handles `data-decided`.
        return;
    }
  }

  /**
   * Records the calls of a message that did not arrive in chunks. `from` says where the message comes from: a reset, the server's HTTP
   * route, or the page itself. Calls that are known already are ignored, except in a reset. The server already has the decisions in a
   * message that it sent, so these are recorded as sent.
   */
  adopt(message: UIMessage, from: 'reset' | 'server' | 'page'): void {
    for (const part of toolPartsOf(message.parts)) {
      const { toolCallId: id, approval, input } = part;
      const running = approval ? 'approval-responded' : 'input-available';
      const state = part.preliminary === true ? running : part.state;
      if (this.#calls.has(id) && from !== 'reset') continue;
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

  /** Records the calls that the server waits for, as its session info lists them. */
  setAwaited(calls: readonly WaitingAnswer[]): void {
    this.#awaited = new Set(calls.map(({ toolCallId }) => toolCallId));
  }

  /** Records that the page sends these answers. */
  markSent(answers: readonly AnswerPart[]): void {
    for (const { toolCallId, state, approval } of answers) {
      if (approval?.approved !== undefined) this.#decide(toolCallId, approval.approved);
      if (state === 'output-available' || state === 'output-error') this.#markSent(toolCallId, 'output');
    }
  }

  /** Records that the server rejected these answers for now: the page may send them again. */
  unmarkSent(answers: readonly AnswerPart[]): void {
    for (const { toolCallId } of answers) {
      this.#sent.delete(`decision ${toolCallId}`);
      this.#sent.delete(`output ${toolCallId}`);
    }
  }

  get(id: string): TrackedCall | undefined {
    return this.#calls.get(id);
  }

  /** Returns the calls without an outcome, of one message or of all messages. */
  open(messageId?: string): TrackedCall[] {
    return [...this.#calls.values()].filter(
      (call) => !isSettled(call.state) && (messageId === undefined || call.messageId === messageId),
    );
  }

  /** Whether the message has calls, and all of them have an outcome. */
  areSettled(messageId: string): boolean {
    const own = [...this.#calls.values()].filter((call) => call.messageId === messageId);
    return own.length > 0 && own.every((call) => isSettled(call.state));
  }

  /** Whether the call waits for the user, or for a browser tool that the transport does not run. */
  waitsForPage(call: TrackedCall): boolean {
    if (this.wasSent(call.id, 'output') || call.optimistic) return false;
    const who = waitingFor(call);
    return who === 'person' || (who === 'client' && !this.runs(call.toolName));
  }

  /** Whether the transport should run the browser tool of the call now. */
  isDue(call: TrackedCall): boolean {
    return waitingFor(call) === 'client' && !this.wasSent(call.id, 'output') && this.runs(call.toolName);
  }

  /** Returns the ids of the calls that are approved and wait for the page, although the message still shows them as `approval-responded`. */
  approvedWithoutOutput(message: UIMessage): string[] {
    return toolPartsOf(message.parts).flatMap(({ toolCallId: id, state }) => {
      const call = this.#calls.get(id);
      const isApproved = state === 'approval-responded' && this.wasSent(id, 'decision');
      return isApproved && call && !isSettled(call.state) && this.waitsForPage(call) ? [id] : [];
    });
  }

  /**
   * Returns the `tool-input-available` chunk of a call; null when the call is not known. After this chunk, the chat shows the call as one that the
   * page has to run, not as an unsent approval.
   */
  announcementOf(id: string): Chunk | null {
    const call = this.#calls.get(id);
    if (!call) return null;
    const { toolName, input, runsOn, asks } = call;
    return { type: 'tool-input-available', toolCallId: id, toolName, input, toolMetadata: { runsOn, asks } };
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

  runs(toolName: string): boolean {
    return this.#runnable.has(toolName);
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
    const confirmation = this.#confirmed.get(id);
    // The server sends `tool-input-available` a second time only for a call that the user approved and whose output from the browser is missing.
    const isApproved = known?.state === 'approval-requested' || confirmation !== undefined;
    const approved = isApproved ? true : known?.approved;
    const facts = factsOf(chunk.toolMetadata);
    this.#calls.set(id, { ...facts, id, toolName, messageId, input, state, approved, confirmation });
  }

  /**
   * Records an approval by the confirmation tool: the output `{confirmed: true}` approves the `originalFunctionCall` in its input. The
   * server announces that call afterwards.
   */
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

/** Returns the id of the call whose outcome a chunk carries; null for a chunk without an outcome. */
export function settledCall(chunk: Chunk): string | null {
  switch (chunk.type) {
    case 'tool-output-available':
      return chunk.preliminary === true ? null : chunk.toolCallId;
    case 'tool-output-error':
    case 'tool-output-denied':
      return chunk.toolCallId;
    case 'data-settled':
      return chunk.data.toolCallId;
    default:
      return null;
  }
}

/** Returns the parts that show tool calls, in order. */
export function toolPartsOf(parts: readonly UIMessage['parts'][number][]): ToolPart[] {
  return parts.filter((part) => 'toolCallId' in part && toolNameOf(part) !== null) as unknown as ToolPart[];
}

/** Reads the facts of a tool from the `toolMetadata` of a part or chunk. `asks`: the part has an approval, so its tool asks for one. */
export function factsOf(metadata: unknown, asks = false): ToolFacts {
  const facts = (metadata ?? {}) as Partial<ToolFacts>;
  return {
    ...facts,
    runsOn: facts.runsOn === 'client' ? 'client' : 'server',
    asks: facts.asks === true || asks,
  };
}
