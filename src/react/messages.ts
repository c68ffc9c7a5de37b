import {
  CONFIRMATION_TOOL,
  type Message,
  type MessageTools,
  type TokenUsage,
  type ToolRecord,
} from '../protocol/chunks.ts';
import { toolNameOf } from '../protocol/tool-call.ts';

type AskedTool<TOOLS> = {
  [Name in keyof TOOLS & string]: {
    toolName: Name;
    input: TOOLS[Name] extends { input: infer Input } ? Input : unknown;
  };
}[keyof TOOLS & string];

/** A call that waits for the user's decision. `PendingApproval<typeof tools>` types the input by the name of the tool. */
export type PendingApproval<TOOLS extends ToolRecord = ToolRecord> = ApprovalFields &
  AskedTool<MessageTools<TOOLS>>;

interface ApprovalFields {
  /** The id of the approval request; for a call of the confirmation tool, the id of that call. */
  id: string;
  messageId: string;
  /** The id of the call that waits, as in its message part. */
  toolCallId: string;
  /** When the approval request expires, in milliseconds since 1970; null: never. */
  expiresAt: number | null;
  /** The text of the request, when the definition of the tool has `approvalMessage`. */
  message?: string;
  /** Whether the waiting call is one of the confirmation tool: the page then sends the decision as the output of that call. */
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

/**
 * The decisions that these messages wait for, in order.
 *
 * @example
 * for (const approval of pendingApprovals(chat.messages)) console.log(approval.toolName, approval.input);
 */
export function pendingApprovals<TOOLS extends ToolRecord = ToolRecord>(
  messages: readonly Message<TOOLS>[],
): PendingApproval<TOOLS>[] {
  const found = (messages as readonly Message[]).flatMap((message) =>
    message.role === 'assistant'
      ? message.parts.flatMap((part) =>
          'toolCallId' in part ? (approvalOf(message.id, part as unknown as Part) ?? []) : [],
        )
      : [],
  );
  return found as PendingApproval<TOOLS>[];
}

function approvalOf(messageId: string, part: Part): PendingApproval | null {
  const { toolCallId, state, input, approval } = part;
  const name = toolNameOf(part) ?? '';
  const request = state === 'approval-requested' ? approval : undefined;
  const isConfirmation = name === CONFIRMATION_TOOL && state === 'input-available';
  if (!request && !isConfirmation) return null;
  const { originalFunctionCall: asked } = ((isConfirmation && input) || {}) as {
    originalFunctionCall?: { name?: unknown; args?: unknown };
  };
  const { expiresAt, message } = (request?.descriptor ?? {}) as { expiresAt?: unknown; message?: unknown };
  return {
    id: request?.id ?? toolCallId,
    messageId,
    toolCallId,
    toolName: typeof asked?.name === 'string' ? asked.name : name,
    input: isConfirmation ? (asked?.args ?? {}) : input,
    expiresAt: typeof expiresAt === 'number' ? expiresAt : null,
    ...(typeof message === 'string' ? { message } : {}),
    isConfirmation,
  };
}

/** The message that `sendMessage()` without a message continues: the last one with a decision, or else the last message. */
export function continuedMessage(messages: readonly Message[]): Message | undefined {
  const decided = messages.findLast(({ parts }) =>
    parts.some((part) => 'toolCallId' in part && part.state === 'approval-responded'),
  );
  return decided ?? messages.at(-1);
}

const KINDS = ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning', 'total'] as const;

/** The sum of the token counts of these messages; null for a count that no message has. */
export function totalUsage(messages: readonly Message[]): TokenUsage {
  const total = Object.fromEntries(KINDS.map((kind) => [kind, null])) as unknown as TokenUsage;
  for (const { metadata } of messages) {
    for (const kind of KINDS) {
      const count = metadata?.usage?.[kind];
      if (typeof count === 'number') total[kind] = (total[kind] ?? 0) + count;
    }
  }
  return total;
}
