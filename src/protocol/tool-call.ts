import type { ToolFacts } from './chunks.ts';
import { cut, LIMITS, type Limits, nestsWithin } from './limits.ts';

/** The states of a tool call, named as the AI SDK names them. */
export type ToolCallState =
  | 'input-streaming'
  | 'input-available'
  | 'approval-requested'
  | 'approval-responded'
  | 'output-available'
  | 'output-error'
  | 'output-denied';

/** The events in the life of a tool call. With `deny` the user denies the call. The denied call then ends with `fail`, or with `refuse` as `output-denied`. */
export type ToolCallEvent = 'input' | 'ask' | 'approve' | 'deny' | 'progress' | 'output' | 'fail' | 'refuse';

/** The life cycle of a tool call: every transition that exists. */
export const TRANSITIONS: Readonly<Record<ToolCallState, Partial<Record<ToolCallEvent, ToolCallState>>>> = {
  'input-streaming': { input: 'input-available', fail: 'output-error' },
  'input-available': {
    ask: 'approval-requested',
    progress: 'input-available',
    output: 'output-available',
    fail: 'output-error',
  },
  'approval-requested': {
    approve: 'approval-responded',
    deny: 'approval-responded',
    fail: 'output-error',
  },
  'approval-responded': {
    progress: 'approval-responded',
    output: 'output-available',
    fail: 'output-error',
    refuse: 'output-denied',
  },
  'output-available': {},
  'output-error': {},
  'output-denied': {},
};

/** Returns the state after an event; null when the event cannot happen in the given state. */
export function transition(state: ToolCallState, event: ToolCallEvent): ToolCallState | null {
  return TRANSITIONS[state][event] ?? null;
}

/** Whether the part of a call shows its outcome. A preliminary output is no outcome, because the tool still runs. */
export function hasOutcome(part: { state: ToolCallState; preliminary?: boolean | undefined }): boolean {
  return part.preliminary !== true && isSettled(part.state);
}

/** Whether the call is in a final state. */
export function isSettled(state: ToolCallState): boolean {
  return state === 'output-available' || state === 'output-error' || state === 'output-denied';
}

/** The facts about a tool call that decide which party it waits for. */
export interface WaitingCall extends ToolFacts {
  state: ToolCallState;
  approved?: boolean | undefined;
}

/** Which party a call waits for: none (it is settled), the server, the client, or the user (`person`). */
export function waitingFor(call: WaitingCall): 'none' | 'server' | 'client' | 'person' {
  switch (call.state) {
    case 'input-streaming':
      return 'server';
    case 'input-available':
      // The server sends `tool-input-available` again for an approved client call whose output is missing. So an approved call may be in this state.
      return call.asks && call.approved !== true ? 'server' : call.runsOn;
    case 'approval-requested':
      return 'person';
    case 'approval-responded':
      return call.approved === true ? call.runsOn : 'server';
    case 'output-available':
    case 'output-error':
    case 'output-denied':
      return 'none';
    default:
      return call.state satisfies never;
  }
}

/** What a client sends for a waiting call: a decision of the user, or the output or failure of a client tool. */
export type Answer =
  | {
      kind: 'decision';
      toolCallId: string;
      approvalId?: string;
      approved: boolean;
      reason?: string;
      /** Data that the user sends to the tool together with the decision. */
      payload?: unknown;
      input?: unknown;
    }
  | { kind: 'output'; toolCallId: string; output: unknown; input?: unknown }
  | { kind: 'failure'; toolCallId: string; errorText: string; input?: unknown };

/** Returns the tool name of a message part; null when the part shows no tool call. */
export function toolNameOf(part: { type: string; toolName?: unknown }): string | null {
  if (part.type === 'dynamic-tool') return typeof part.toolName === 'string' ? part.toolName : null;
  return part.type.startsWith('tool-') ? part.type.slice('tool-'.length) : null;
}

/**
 * Returns the answers in the parts of an assistant message, in order. It reads a decision in every state of a part, because the AI SDK keeps the
 * decision in parts that already have an output. It ignores parts without an answer.
 */
export function answersIn(parts: readonly unknown[], limits: Limits = LIMITS): Answer[] {
  const answers: Answer[] = [];
  for (const part of parts) {
    if (!isRecord(part) || typeof part.type !== 'string' || !isId(part.toolCallId, limits)) continue;
    if (toolNameOf({ type: part.type, toolName: part.toolName }) === null) continue;
    const { toolCallId } = part;
    const input = part.input === undefined ? {} : { input: bounded(part.input, limits) };
    const approval = part.approval;
    if (isRecord(approval) && isId(approval.id, limits) && typeof approval.approved === 'boolean') {
      const { id: approvalId, approved } = approval;
      answers.push({
        kind: 'decision',
        toolCallId,
        approvalId,
        approved,
        ...reasonOf(approval.reason, limits),
        ...payloadOf(approval.payload, limits),
        ...input,
      });
    }
    if (part.type === 'tool-result') {
      answers.push(outputOf(toolCallId, part.result ?? part.output ?? null, limits));
    } else if (part.state === 'output-available' && part.preliminary !== true) {
      answers.push({ ...outputOf(toolCallId, part.output ?? null, limits), ...input });
    } else if (part.state === 'output-error') {
      answers.push({ ...failureOf(toolCallId, part.errorText, limits), ...input });
    }
  }
  return answers;
}

/** Returns the reason of a decision, cut to the limit; the result is empty when there is no reason. */
export function reasonOf(reason: unknown, limits: Limits): { reason?: string } {
  return typeof reason === 'string' && reason !== '' ? { reason: cut(reason, limits.reasonLength) } : {};
}

/** Returns the payload that the user sends to the tool with a decision. The result is empty without a payload, or with one that is nested too deep. */
export function payloadOf(payload: unknown, limits: Limits): { payload?: unknown } {
  return payload === undefined || payload === null || !nestsWithin(payload, limits.depth) ? {} : { payload };
}

/** Returns the output of a client tool as an answer. An output that is nested too deep to be stored becomes a failure of the tool. */
export function outputOf(toolCallId: string, output: unknown, limits: Limits): Answer {
  if (nestsWithin(output, limits.depth)) return { kind: 'output', toolCallId, output };
  return failureOf(toolCallId, `The output has more than ${limits.depth} nested levels`, limits);
}

/** Returns the failure of a client tool as an answer, with its error text cut to the limit. */
export function failureOf(toolCallId: string, errorText: unknown, limits: Limits): Answer {
  const text = typeof errorText === 'string' ? errorText : 'The tool failed in the browser';
  return { kind: 'failure', toolCallId, errorText: cut(text, limits.errorLength) };
}

/**
 * Returns the input of an answer, which the server compares with the arguments of the call. An input that is nested too deep to
 * compare becomes null. The arguments of a call are never null, so the server treats such an input as changed.
 */
function bounded(input: unknown, limits: Limits): unknown {
  return nestsWithin(input, limits.depth) ? input : null;
}

function isId(value: unknown, limits: Limits): value is string {
  return typeof value === 'string' && value.length <= limits.idLength;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
