import { type Chunk, CONFIRMATION_TOOL, type ToolFacts } from '../../../../protocol/index.ts';
import { type CallOutcome, decisionIn, outputChunk } from '../../../ledger/approvals.ts';
import { approvalRequest } from '../../../ledger/questions.ts';
import type { CallRecord } from '../../../store/store.ts';
import type { Context } from '../context.ts';
import type { Draft, Messages } from '../messages.ts';
import type { OpenCall } from '../open-calls.ts';

type NamedCall = Pick<CallRecord, 'id' | 'toolName' | 'args'>;

/** Sends what clients see of a call, in both dialects: that it was made, its approval request, and its outcome. */
export class CallChunks {
  private readonly context: Context;
  private readonly messages: Messages;
  /** Calls that ADK announced before they were recorded, and that have no outcome. */
  private readonly announced = new Set<string>();

  constructor(context: Context, messages: Messages) {
    this.context = context;
    this.messages = messages;
  }

  /** Whether the confirmation dialect is on: a confirmation is a tool call of its own. */
  get usesConfirmations(): boolean {
    return this.context.options.confirmations === 'tool';
  }

  /** Whether a call is announced only when it is stored: questions, and over a socket calls that wait, which are announced one after the other. */
  isAnnouncedLate({ asks, runsOn, question }: ToolFacts): boolean {
    if (question) return true;
    return !this.context.policy.hasResponse && (asks || runsOn === 'client');
  }

  /** Announces a call that ADK runs, or will record. */
  announceEarly(call: NamedCall, facts: ToolFacts, draft: Draft): void {
    if (this.usesConfirmations && facts.asks) return;
    this.announced.add(call.id);
    this.sayCall(call, facts, draft);
  }

  /** Whether a call was announced early, and ADK's own loop runs its tool. */
  isAnnounced(callId: string): boolean {
    return this.announced.has(callId);
  }

  /** Whether a call was announced early and has neither an outcome nor a record; true once. */
  takeAnnounced(callId: string): boolean {
    return this.announced.delete(callId);
  }

  /** An announced call is not recorded after all: ADK answers it, or nothing does. */
  giveBack(callId: string): void {
    this.announced.add(callId);
  }

  /** Removes and returns the calls that were announced early and that have no outcome. */
  takeAllAnnounced(): string[] {
    const ids = [...this.announced];
    this.announced.clear();
    return ids;
  }

  /** Announces a call that ADK itself answers. */
  announceInside(call: NamedCall, draft: Draft): void {
    this.sayCall(call, { runsOn: 'server', asks: false }, draft);
  }

  /** Announces a recorded call, once. */
  announce(call: OpenCall, draft: Draft): void {
    if (call.isAnnounced) return;
    call.setAnnounced(true);
    const { runsOn, approvalId, question } = call.record;
    const asked = call.asksForAnswer && question ? { question } : {};
    this.sayCall(call.record, { runsOn, asks: approvalId !== null, ...asked }, draft);
  }

  /** Sends the input again, so that a response of its own shows what the browser must do. */
  repeatInput({ record }: OpenCall, draft: Draft): void {
    if (this.usesConfirmations) return;
    const { id: toolCallId, toolName, args: input, runsOn } = record;
    const toolMetadata = { runsOn, asks: true };
    this.messages.say(draft, { type: 'tool-input-available', toolCallId, toolName, input, toolMetadata });
  }

  /** Sends the approval request of a call, or its question. `queued`: how many others of its message are sent after it. */
  ask(call: OpenCall, draft: Draft, queued: number): void {
    const { context, messages } = this;
    if (call.asksForAnswer) {
      this.announce(call, draft);
      messages.save(draft);
      return;
    }
    if (this.usesConfirmations) {
      this.announceConfirmation(call, draft);
      messages.save(draft);
      return;
    }
    this.announce(call, draft);
    const { messageId } = call.record;
    const chunk = approvalRequest(call.record, queued, call.approvalMessage);
    context.emit({ type: 'say-stored', messageId, chunk, inStep: context.policy.steps });
  }

  /** In the confirmation dialect: sends a call of its own that asks about the original one. */
  private announceConfirmation(call: OpenCall, draft: Draft): void {
    const { approvalId, id, toolName: name, args, question } = call.record;
    if (approvalId === null) return;
    call.setConfirming(true);
    const { message: hint, payload } = question ?? {};
    const about = { ...(hint === undefined ? {} : { hint }), ...(payload === undefined ? {} : { payload }) };
    this.sayCall(
      {
        id: approvalId,
        toolName: CONFIRMATION_TOOL,
        args: { originalFunctionCall: { id, name, args }, toolConfirmation: { ...about, confirmed: false } },
      },
      { runsOn: 'client', asks: false },
      draft,
    );
  }

  /** In the confirmation dialect: closes the confirmation, and announces the original call. */
  confirm(call: OpenCall): void {
    const { messages } = this;
    const { approvalId, messageId } = call.record;
    const draft = messages.get(messageId);
    if (!this.usesConfirmations || approvalId === null || !draft) return;
    if (call.isConfirming) {
      call.setConfirming(false);
      const output = { confirmed: decisionIn(call.record) !== false };
      messages.say(draft, { type: 'tool-output-available', toolCallId: approvalId, output });
    }
    this.announce(call, draft);
  }

  /** The chunks of an outcome, for what the message shows: the call, and in the confirmation dialect the confirmation. */
  forOutcome(call: OpenCall, outcome: CallOutcome): Chunk[] {
    const { denials } = this.context.options;
    const { approvalId, id } = call.record;
    return [
      ...(call.isConfirming && approvalId !== null ? [approvalId] : []),
      ...(call.isAnnounced ? [id] : []),
    ].map((shown) => outputChunk(shown, outcome, denials));
  }

  private sayCall(
    { id: toolCallId, toolName, args: input }: NamedCall,
    facts: ToolFacts,
    draft: Draft,
  ): void {
    const { messages } = this;
    const toolMetadata = { ...facts };
    // Another agent may still write while this one calls a browser tool, which ends the response: no block stays open then.
    if (facts.runsOn === 'client' && !facts.asks) messages.closeBlocksOf(draft);
    messages.say(draft, { type: 'tool-input-start', toolCallId, toolName, toolMetadata });
    messages.say(draft, { type: 'tool-input-available', toolCallId, toolName, input, toolMetadata });
  }
}
