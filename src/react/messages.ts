import {
  type AskedQuestion,
  CONFIRMATION_TOOL,
  type Message,
  type MessageTools,
  type Question,
  type TokenUsage,
  type ToolFacts,
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
  /** The id of the approval request. For a call of ADK's confirmation tool, it is the id of that call. */
  id: string;
  messageId: string;
  /** The id of the call that waits, as in its message part. */
  toolCallId: string;
  /** When the approval request expires, in milliseconds since 1970; null: never. */
  expiresAt: number | null;
  /** The text of the request: the `hint` of `requestConfirmation` (ADK), or the `approvalMessage` of the tool. */
  message?: string;
  /** Data that the tool sent with the request (`requestConfirmation` of ADK). `approve` can send changed data back. */
  payload?: Question['payload'];
  /** Whether the waiting call is a call of ADK's confirmation tool. The page then sends the decision as the output of that call. */
  isConfirmation: boolean;
  /**
   * Only if an agent that is used as a tool made the call: the names of the agents on the way to it, from the agent of the conversation to the one that
   * made the call.
   */
  agents?: string[];
}

/** An open question to the user. The agent, a tool or a node of a workflow waits for the answer. */
export interface PendingQuestion extends Omit<AskedQuestion, 'expiresAt'> {
  /** The id of the call that asks, as in its message part. */
  toolCallId: string;
  messageId: string;
  /** The tool that asks, such as `get_user_choice`; for a node of a workflow `adk_request_input`. */
  toolName: string;
  /** When the question expires, in milliseconds since 1970; null: never. */
  expiresAt: number | null;
  /** With the kind `sign-in`: the id of the request, with which the user can decline. The user does not answer here, but signs in at `url`. */
  approvalId?: string;
  /**
   * Only if an agent that is used as a tool asks: the names of the agents on the way to the question, from the agent of the conversation to the one that
   * asks.
   */
  agents?: string[];
}

interface Part {
  type: string;
  toolCallId: string;
  toolName?: string;
  state: string;
  input?: unknown;
  toolMetadata?: Partial<ToolFacts>;
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
  return callsIn(messages as readonly Message[], approvalOf) as PendingApproval<TOOLS>[];
}

/**
 * The questions that these messages wait for, in order.
 *
 * @example
 * for (const question of pendingQuestions(chat.messages)) console.log(question.message, question.schema);
 */
export function pendingQuestions(messages: readonly Message[]): PendingQuestion[] {
  return callsIn(messages, questionOf);
}

/** Calls `read` for the calls of the assistant's messages, in order, and returns its results except null. */
function callsIn<T>(messages: readonly Message[], read: (call: Call, part: Part) => T | null): T[] {
  return messages.flatMap(({ id, role, parts }) =>
    role === 'assistant'
      ? parts.flatMap((part) =>
          'toolCallId' in part
            ? (read(callOf(id, part as unknown as Part), part as unknown as Part) ?? [])
            : [],
        )
      : [],
  );
}

/** The call that waits: what an approval and a question have in common. */
type Call = Pick<PendingQuestion, 'messageId' | 'toolCallId' | 'toolName' | 'agents'>;

function callOf(messageId: string, part: Part): Call {
  const { toolCallId, toolMetadata } = part;
  const agents = toolMetadata?.agents;
  return { messageId, toolCallId, toolName: toolNameOf(part) ?? '', ...(agents && { agents }) };
}

function questionOf(call: Call, part: Part): PendingQuestion | null {
  const signIn = signInOf(part);
  if (signIn) return { ...call, ...signIn };
  const question = part.toolMetadata?.question;
  if (!question || part.state !== 'input-available') return null;
  return { expiresAt: null, ...question, ...call };
}

/** Returns the sign-in that a part asks for; null when it asks for none. */
function signInOf({
  state,
  approval,
}: Part): Pick<PendingQuestion, 'kind' | 'url' | 'message' | 'expiresAt' | 'approvalId'> | null {
  const { signInUrl, message, expiresAt = null } = (approval?.descriptor ?? {}) as Descriptor;
  if (!approval || state !== 'approval-requested' || signInUrl === undefined) return null;
  return { kind: 'sign-in', url: signInUrl, message: message ?? '', expiresAt, approvalId: approval.id };
}

interface Descriptor {
  signInUrl?: string;
  message?: string;
  expiresAt?: number;
}

function approvalOf(call: Call, part: Part): PendingApproval | null {
  const { toolCallId, toolName: name } = call;
  const { state, input, approval } = part;
  const request = state === 'approval-requested' ? approval : undefined;
  const isConfirmation = name === CONFIRMATION_TOOL && state === 'input-available';
  if ((!request && !isConfirmation) || signInOf(part)) return null;
  const { originalFunctionCall: asked, toolConfirmation } = ((isConfirmation && input) || {}) as {
    originalFunctionCall?: { name?: unknown; args?: unknown };
    toolConfirmation?: { hint?: unknown; payload?: Question['payload'] };
  };
  const { expiresAt, message, payload } = (request?.descriptor ?? {
    message: toolConfirmation?.hint,
    payload: toolConfirmation?.payload,
  }) as { expiresAt?: unknown; message?: unknown; payload?: Question['payload'] };
  return {
    ...call,
    id: request?.id ?? toolCallId,
    toolName: typeof asked?.name === 'string' ? asked.name : name,
    input: isConfirmation ? (asked?.args ?? {}) : input,
    expiresAt: typeof expiresAt === 'number' ? expiresAt : null,
    ...(typeof message === 'string' && { message }),
    ...(payload !== undefined && { payload }),
    isConfirmation,
  };
}

/** Returns the message that `sendMessage()` without a message continues: the last message with a decision, else the last message. */
export function continuedMessage(messages: readonly Message[]): Message | undefined {
  const decided = messages.findLast(({ parts }) =>
    parts.some((part) => 'toolCallId' in part && part.state === 'approval-responded'),
  );
  return decided ?? messages.at(-1);
}

const KINDS = ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning', 'total'] as const;

/** Returns the sum of the token counts of these messages, without those of sound (`audio`). A count that no message has is null. */
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
