import {
  type Chunk,
  type Message,
  type MessageFold,
  type ToolCallState,
  type ToolFacts,
  toolNameOf,
  waitingFor,
} from '../protocol/index.ts';
import { hasOutcome } from '../protocol/tool-call.ts';

/** A tool call, as the page shows it. */
export interface TestToolCall {
  toolCallId: string;
  toolName: string;
  state: ToolCallState;
  input: unknown;
  output?: unknown;
  errorText?: string;
}

/** An approval request that waits for a decision. */
export interface TestApproval {
  approvalId: string;
  toolCallId: string;
  toolName: string;
  input: unknown;
  /** The text of the approval request, if it has one. */
  message?: string;
  /** When it expires, in milliseconds since 1970; null when it waits without limit. */
  expiresAt: number | null;
}

/** What the agent did, from a request to the end of the turn or to the next pause. */
export interface TestTurn {
  /** The text that the agent wrote. Text parts are separated by a line feed. */
  text: string;
  /** What the agent thought. */
  reasoning: string;
  /** The tool calls that were made in this turn, or that changed in it. */
  toolCalls: TestToolCall[];
  /** The approval requests that wait at the end of this turn. */
  approvals: TestApproval[];
  /** The text of the error that ended the turn; null when there was none. */
  error: string | null;
  /** The chunks, in order, without transient ones. */
  chunks: Chunk[];
  /** The data that tools sent with `transient: true`, in order, as the `onData` of a page gets it. It is in no message. */
  transientData: Chunk[];
}

/** A tool part of a message, in any state. */
export interface ToolPart {
  type: string;
  toolCallId: string;
  state: ToolCallState;
  input?: unknown;
  output?: unknown;
  errorText?: string;
  toolMetadata?: ToolFacts;
  approval?: { id: string; approved?: boolean; descriptor?: { expiresAt?: number | null; message?: string } };
}

export function toolPartsOf({ parts }: Message): ToolPart[] {
  return parts.flatMap((part) => ('toolCallId' in part ? (part as unknown as ToolPart) : []));
}

/** The name of the tool of a part. */
export function nameOf(part: ToolPart): string {
  return toolNameOf(part) ?? part.type;
}

/** The approval request of a part that waits for a decision; null for any other part. */
export function approvalOf(part: ToolPart): TestApproval | null {
  const { state, approval, toolCallId, input } = part;
  if (state !== 'approval-requested' || !approval) return null;
  const { expiresAt = null, message } = approval.descriptor ?? {};
  const toolName = nameOf(part);
  return { approvalId: approval.id, toolCallId, toolName, input, ...(message && { message }), expiresAt };
}

/** Collects what the agent did in these chunks. `parts`: all tool parts of the conversation as they are now. */
export function turnOf(chunks: Chunk[], transientData: Chunk[], parts: readonly ToolPart[]): TestTurn {
  const touched = new Set(chunks.flatMap((chunk) => ('toolCallId' in chunk ? chunk.toolCallId : [])));
  return {
    text: textOf(chunks, 'text'),
    reasoning: textOf(chunks, 'reasoning'),
    toolCalls: parts.filter(({ toolCallId }) => touched.has(toolCallId)).map(toolCallOf),
    approvals: parts.flatMap((part) => approvalOf(part) ?? []),
    error: chunks.find((chunk) => chunk.type === 'error')?.errorText ?? null,
    chunks,
    transientData,
  };
}

/** Whether a message has calls without an outcome, all of these calls wait for the user or the browser, and no text is being written. */
export function isPaused({ message, openBlocks }: MessageFold): boolean {
  const open = toolPartsOf(message).filter((part) => !hasOutcome(part));
  return (
    open.length > 0 &&
    openBlocks.length === 0 &&
    open.every((part) => isFor('person', part) || isFor('client', part))
  );
}

/** Whether a call waits for `who`: the user (`person`), or the browser (`client`). */
export function isFor(who: 'person' | 'client', { state, toolMetadata, approval }: ToolPart): boolean {
  const { runsOn = 'server', asks = false } = toolMetadata ?? {};
  return waitingFor({ runsOn, asks, state, approved: approval?.approved }) === who;
}

/** The message with which a page answers calls of an assistant message: it has the id of that message, and only the parts of the answered calls. */
export function answering({ id }: Message, parts: readonly ToolPart[]): Message {
  return { id, role: 'assistant', parts: parts as unknown as Message['parts'] };
}

function toolCallOf(part: ToolPart): TestToolCall {
  const { toolCallId, state, input, output, errorText } = part;
  return {
    toolCallId,
    toolName: nameOf(part),
    state,
    input,
    ...(output === undefined ? {} : { output }),
    ...(errorText === undefined ? {} : { errorText }),
  };
}

/** The text of the blocks of a kind; blocks are separated by a line feed. */
function textOf(chunks: readonly Chunk[], kind: 'text' | 'reasoning'): string {
  const blocks: string[] = [];
  for (const chunk of chunks) {
    if (chunk.type === `${kind}-start`) blocks.push('');
    if (chunk.type === `${kind}-delta` && 'delta' in chunk) {
      const last = blocks.pop() ?? '';
      blocks.push(last + chunk.delta);
    }
  }
  return blocks.join('\n');
}
