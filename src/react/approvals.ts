import { CONFIRMATION_TOOL, type Message } from '../protocol/chunks.ts';
import { toolNameOf } from '../protocol/tool-call.ts';

/** A call that waits for the person's decision. */
export interface PendingApproval {
  /** Names the question: the approval's id, or the call's where the question is a call itself. */
  id: string;
  messageId: string;
  /** The call as the message shows it. */
  toolCallId: string;
  toolName: string;
  input: unknown;
  /** When the question runs out, in milliseconds since 1970. */
  expiresAt: number | null;
  /** Whether the question is a call of the confirmation tool, whose output is the decision. */
  isConfirmation: boolean;
}

interface Part {
  type: string;
  toolCallId: string;
  toolName?: string;
  state: string;
  input?: unknown;
  approval?: { id: string; descriptor?: unknown };
}

/** The decisions that these messages wait for, in order. */
export function pendingApprovals(messages: readonly Message[]): PendingApproval[] {
  return messages.flatMap((message) =>
    message.role === 'assistant'
      ? message.parts.flatMap((part) =>
          'toolCallId' in part ? approvalOf(message.id, part as unknown as Part) : [],
        )
      : [],
  );
}

function approvalOf(messageId: string, part: Part): PendingApproval[] {
  const { toolCallId, state, input, approval } = part;
  const name = toolNameOf(part) ?? '';
  if (state === 'approval-requested' && approval) {
    const expiresAt = expiryOf(approval.descriptor);
    const { id } = approval;
    return [{ id, messageId, toolCallId, toolName: name, input, expiresAt, isConfirmation: false }];
  }
  if (name !== CONFIRMATION_TOOL || state !== 'input-available') return [];
  const original = (input as { originalFunctionCall?: { name?: unknown; args?: unknown } } | undefined)
    ?.originalFunctionCall;
  return [
    {
      id: toolCallId,
      messageId,
      toolCallId,
      toolName: typeof original?.name === 'string' ? original.name : name,
      input: original?.args ?? {},
      expiresAt: null,
      isConfirmation: true,
    },
  ];
}

function expiryOf(descriptor: unknown): number | null {
  const expiresAt = (descriptor as { expiresAt?: unknown } | undefined)?.expiresAt;
  return typeof expiresAt === 'number' ? expiresAt : null;
}
