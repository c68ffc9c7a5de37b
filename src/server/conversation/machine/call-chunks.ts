import { type Chunk, CONFIRMATION_TOOL, type ToolFacts } from '../../../protocol/index.ts';
import { decisionIn } from '../../ledger/approvals.ts';
import { outputChunk, type Settlement } from '../../ledger/settlement.ts';
import type { CallRecord } from '../../store/store.ts';
import type { Writing } from './messages.ts';
import type { OpenCall } from './open-call.ts';
import type { Shared } from './shared.ts';

type NamedCall = Pick<CallRecord, 'id' | 'toolName' | 'args'>;

/** What the person is told of a call, in both dialects: that it was made, that it asks, and how it ended. */
export class CallChunks {
  /** Calls that ADK announced over SSE, before the gate had them. */
  private readonly announced = new Set<string>();
  private readonly parts: Shared;

  constructor(parts: Shared) {
    this.parts = parts;
  }

  /** In the confirmation dialect a confirmation is a call of its own. */
  get areConfirmed(): boolean {
    return this.parts.core.options.confirmations === 'tool';
  }

  /** Whether it is said only when a call is written down that there is such a call: over a socket what waits is told one after the other. */
  isToldLate({ asks, runsOn }: ToolFacts): boolean {
    return !this.parts.policy.pauseEndsResponse && (asks || runsOn === 'client');
  }

  /** Says that there is a call, when ADK announces it itself. */
  announceEarly(call: NamedCall, facts: ToolFacts, writing: Writing): void {
    if (this.areConfirmed && facts.asks) return;
    this.announced.add(call.id);
    this.sayCall(call, facts, writing);
  }

  /** Whether a call was announced by ADK and has neither an answer nor a place among the open calls; asked once. */
  wasAnnounced(callId: string): boolean {
    return this.announced.delete(callId);
  }

  /** A call that was announced is not among the open calls any more: ADK answers it itself, or nothing does. */
  giveBack(callId: string): void {
    this.announced.add(callId);
  }

  /** The calls that ADK announced and that nothing became of; asked once. */
  takeAnnounced(): string[] {
    const ids = [...this.announced];
    this.announced.clear();
    return ids;
  }

  /** Says that there is a call which the run itself answers. */
  announceInside(call: NamedCall, writing: Writing): void {
    if (!this.parts.open.get(call.id)) this.sayCall(call, { runsOn: 'server', asks: false }, writing);
  }

  announce(call: OpenCall, writing: Writing): void {
    if (call.isAnnounced) return;
    call.isAnnounced = true;
    const { runsOn, approvalId } = call.record;
    this.sayCall(call.record, { runsOn, asks: approvalId !== null }, writing);
  }

  /** Says the input again: a response of its own shows what the browser is to do. */
  repeatInput({ record }: OpenCall, writing: Writing): void {
    if (this.areConfirmed) return;
    const { id: toolCallId, toolName, args: input, runsOn } = record;
    const toolMetadata = { runsOn, asks: true };
    this.parts.messages.say(writing, {
      type: 'tool-input-available',
      toolCallId,
      toolName,
      input,
      toolMetadata,
    });
  }

  /** Sends the approval request of a call. `queued`: how many others of its message are sent after it. */
  ask(call: OpenCall, writing: Writing, queued: number): void {
    const { core, messages, policy } = this.parts;
    if (this.areConfirmed) {
      this.announceConfirmation(call, writing);
      messages.save(writing);
      return;
    }
    this.announce(call, writing);
    const { messageId } = call.record;
    const chunk = approvalRequest(call.record, queued);
    core.emit({ type: 'say-stored', messageId, chunk, inStep: policy.steps });
  }

  /** In the confirmation dialect: a call of its own that asks about the original one. */
  private announceConfirmation(call: OpenCall, writing: Writing): void {
    const { approvalId, id, toolName: name, args } = call.record;
    if (approvalId === null) return;
    call.isConfirming = true;
    this.sayCall(
      {
        id: approvalId,
        toolName: CONFIRMATION_TOOL,
        args: { originalFunctionCall: { id, name, args }, toolConfirmation: { confirmed: false } },
      },
      { runsOn: 'client', asks: false },
      writing,
    );
  }

  /** In the confirmation dialect the answer closes the confirmation, and the original call is announced. */
  confirm(call: OpenCall): void {
    const { messages } = this.parts;
    const { approvalId, messageId } = call.record;
    const writing = messages.get(messageId);
    if (!this.areConfirmed || approvalId === null || !writing) return;
    if (call.isConfirming) {
      call.isConfirming = false;
      const output = { confirmed: decisionIn(call.record) !== false };
      messages.say(writing, { type: 'tool-output-available', toolCallId: approvalId, output });
    }
    this.announce(call, writing);
  }

  /** The chunks that tell how a call ended: in the confirmation dialect the confirmation is what a message shows. */
  ofEnd(call: OpenCall, settlement: Settlement): Chunk[] {
    const { denials } = this.parts.core.options;
    const { approvalId, id } = call.record;
    return [
      ...(call.isConfirming && approvalId !== null ? [approvalId] : []),
      ...(call.isAnnounced ? [id] : []),
    ].map((shown) => outputChunk(shown, settlement, denials));
  }

  private sayCall(
    { id: toolCallId, toolName, args: input }: NamedCall,
    facts: ToolFacts,
    writing: Writing,
  ): void {
    const { messages } = this.parts;
    const toolMetadata = { ...facts };
    // An agent may still write while another one calls a browser tool, which ends the response: no block stays open over that.
    if (facts.runsOn === 'client' && !facts.asks) messages.interject(writing);
    messages.say(writing, { type: 'tool-input-start', toolCallId, toolName, toolMetadata });
    messages.say(writing, { type: 'tool-input-available', toolCallId, toolName, input, toolMetadata });
  }
}

/** The request chunk of a card. */
function approvalRequest({ approvalId, id, expiresAt }: CallRecord, queued: number): Chunk {
  const descriptor = { ...(expiresAt === null ? {} : { expiresAt }), ...(queued > 0 ? { queued } : {}) };
  return {
    type: 'tool-approval-request',
    approvalId: approvalId ?? '',
    toolCallId: id,
    ...(Object.keys(descriptor).length === 0 ? {} : { approvalDescriptor: descriptor }),
  };
}
