import { type Chunk, CONFIRMATION_TOOL, type ToolFacts } from '../protocol/index.ts';
import type { SessionOptions } from './engine.ts';
import type { Output } from './output.ts';
import type { CallRecord } from './store/store.ts';

/** What the person sees of a call before it has an output, in either dialect. */
export class Cards {
  /** Whether a confirmation is a tool call of its own. */
  readonly areCalls: boolean;
  private readonly output: Output;

  constructor(output: Output, confirmations: SessionOptions['confirmations']) {
    this.output = output;
    this.areCalls = confirmations === 'tool';
  }

  /** Says that there is a call. */
  announce(call: { id: string; toolName: string; args: Record<string, unknown> }, facts: ToolFacts): void {
    const { id: toolCallId, toolName, args: input } = call;
    const toolMetadata = { ...facts };
    this.output.say({ type: 'tool-input-start', toolCallId, toolName, toolMetadata });
    this.output.say({ type: 'tool-input-available', toolCallId, toolName, input, toolMetadata });
  }

  /** Says that there is a call that asks. */
  announceAsking(call: CallRecord): void {
    this.announce(call, { runsOn: call.runsOn, asks: true });
  }

  /** In the confirmation dialect: a call of its own that asks about the original one. */
  announceConfirmation(call: CallRecord): void {
    if (call.approvalId === null) return;
    this.announce(
      {
        id: call.approvalId,
        toolName: CONFIRMATION_TOOL,
        args: {
          originalFunctionCall: { id: call.id, name: call.toolName, args: call.args },
          toolConfirmation: { confirmed: false },
        },
      },
      { runsOn: 'client', asks: false },
    );
  }

  /** In the confirmation dialect the answer closes the confirmation, and the original call is announced. */
  confirm(call: CallRecord): void {
    if (!this.areCalls || call.approvalId === null) return;
    const fold = this.output.fold(call.messageId);
    if (fold?.isOpen(call.approvalId)) {
      const output = { confirmed: call.status !== 'denied' };
      this.output.say({ type: 'tool-output-available', toolCallId: call.approvalId, output });
    }
    if (!fold?.knows(call.id)) this.announceAsking(call);
  }
}

/** The request chunk of a card. */
export function approvalRequest(call: CallRecord): Chunk {
  return {
    type: 'tool-approval-request',
    approvalId: call.approvalId ?? '',
    toolCallId: call.id,
    ...(call.expiresAt === null ? {} : { approvalDescriptor: { expiresAt: call.expiresAt } }),
  };
}
