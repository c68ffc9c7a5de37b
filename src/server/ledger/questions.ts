import * as z from 'zod/v4';
import {
  type Answer,
  type Chunk,
  CONFIRMATION_TOOL,
  declinedText,
  type Question,
} from '../../protocol/index.ts';
import type { CallRecord } from '../store/store.ts';
import type { CallOutcome, Failure } from './approvals.ts';

/**
 * The outcome of a call for an answer (an output or a failure) of a client or the application. A failure as the answer to a question means that the
 * user declines to answer. An answer that does not fit the schema of its question is rejected, and the question stays open.
 */
export function outcomeFrom(
  { question, approvalId }: CallRecord,
  answer: Exclude<Answer, { kind: 'decision' }>,
): CallOutcome | { rejected: string } {
  const isQuestion = question !== null && approvalId === null;
  if (answer.kind === 'failure') {
    const { errorText } = answer;
    return isQuestion
      ? { kind: 'error', errorText: declinedText(errorText), declined: true }
      : { kind: 'error', errorText };
  }
  const why = isQuestion ? misfitOf(question.schema, answer.output) : null;
  if (why !== null) return { rejected: `the answer does not fit the question: ${why}` };
  return { kind: 'output', output: answer.output };
}

/**
 * Why a value does not fit the schema of a question; null when it fits, or when there is no schema. A model may write a schema that cannot be
 * compiled. Then every value is accepted, and the tool or workflow node that asked checks the value itself.
 */
function misfitOf(schema: Record<string, unknown> | undefined, value: unknown): string | null {
  const validator = schema && compile(schema);
  const { error } = validator?.safeParse(value) ?? {};
  if (!error) return null;
  return error.issues
    .slice(0, MAX_ISSUES)
    .map(({ message, path }) => (path.length === 0 ? message : `${message} at ${path.join('.')}`))
    .join('; ');
}

/**
 * The decision in the output of a confirmation; null when the output contains none. With `confirmations: 'tool'` a confirmation is a tool call of its
 * own.
 */
export function decisionFrom({ id, approvalId }: CallRecord, output: unknown): Answer | null {
  const { confirmed, payload } = (output ?? {}) as { confirmed?: unknown; payload?: unknown };
  if (typeof confirmed !== 'boolean') return null;
  return {
    kind: 'decision',
    toolCallId: id,
    ...(approvalId === null ? {} : { approvalId }),
    approved: confirmed,
    ...(payload == null ? {} : { payload }),
  };
}

/** The confirmation of a call: a call of a browser tool that replaces the approval request of `call`. Null for a call that needs no approval. */
export function confirmationOf(call: CallRecord): Pick<CallRecord, 'id' | 'toolName' | 'args'> | null {
  const { approvalId, id, toolName: name, args, question } = call;
  if (approvalId === null) return null;
  const { message: hint, payload } = question ?? {};
  const about = { ...(hint === undefined ? {} : { hint }), ...(payload === undefined ? {} : { payload }) };
  return {
    id: approvalId,
    toolName: CONFIRMATION_TOOL,
    args: { originalFunctionCall: { id, name, args }, toolConfirmation: { ...about, confirmed: false } },
  };
}

/** The outcome of a call whose tool asks the user a second time, with `question`. */
export function askedTwice({ toolName, question: before }: CallRecord, question: Question): Failure {
  const errorText = [before?.kind, question.kind].includes('sign-in')
    ? `${toolName} asked the user a second time: a call can ask either for a sign-in or for an approval, and only once.`
    : `${toolName} asked again for a confirmation it already had.`;
  return { kind: 'error', errorText };
}

/** How many faults of an answer the error text names at most. */
const MAX_ISSUES = 5;

function compile(schema: Record<string, unknown>): z.ZodType | undefined {
  try {
    return z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  } catch {
    return undefined;
  }
}

/**
 * The chunk of an approval request. `queued`: how many more approval requests of its message will follow. `byTool`: the text from the definition of
 * the tool, if the call has no text of its own.
 */
export function approvalRequest(
  { approvalId, id, expiresAt, question }: CallRecord,
  queued: number,
  byTool: string | undefined,
): Chunk {
  const { message = byTool, payload, url } = question ?? {};
  const descriptor = {
    ...(expiresAt === null ? {} : { expiresAt }),
    ...(queued > 0 ? { queued } : {}),
    ...(message === undefined ? {} : { message }),
    ...(payload === undefined ? {} : { payload }),
    ...(url === undefined ? {} : { signInUrl: url }),
  };
  return {
    type: 'tool-approval-request',
    approvalId: approvalId ?? '',
    toolCallId: id,
    ...(message === undefined ? {} : { reason: message }),
    ...(Object.keys(descriptor).length === 0 ? {} : { approvalDescriptor: descriptor }),
  };
}
