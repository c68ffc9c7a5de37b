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

interface Call {
  name?: unknown;
  args?: unknown;
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
  const asks = state === 'approval-requested' ? approval : undefined;
  const isConfirmation = name === CONFIRMATION_TOOL && state === 'input-available';
  if (!asks && !isConfirmation) return [];
  const { originalFunctionCall: asked } = ((isConfirmation && input) || {}) as {
    originalFunctionCall?: Call;
  };
  return [
    {
      id: asks?.id ?? toolCallId,
      messageId,
      toolCallId,
      toolName: typeof asked?.name === 'string' ? asked.name : name,
      input: isConfirmation ? (asked?.args ?? {}) : input,
      expiresAt: expiryOf(asks?.descriptor),
      isConfirmation,
    },
  ];
}

function expiryOf(descriptor: unknown): number | null {
  const expiresAt = (descriptor as { expiresAt?: unknown } | undefined)?.expiresAt;
  return typeof expiresAt === 'number' ? expiresAt : null;
}
