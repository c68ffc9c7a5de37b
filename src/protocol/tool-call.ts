import type { ToolFacts } from './chunks.ts';

/** The states of a tool call, named as the AI SDK names them. */
export type ToolCallState =
  | 'input-streaming'
  | 'input-available'
  | 'approval-requested'
  | 'approval-responded'
  | 'output-available'
  | 'output-error'
  | 'output-denied';

/** What can happen to a tool call. */
export type ToolCallEvent = 'input' | 'ask' | 'approve' | 'deny' | 'output' | 'fail' | 'refuse';

/** The life cycle of a tool call: every arrow there is. What is not in the table does not happen. */
export const TRANSITIONS: Readonly<Record<ToolCallState, Partial<Record<ToolCallEvent, ToolCallState>>>> = {
  'input-streaming': { input: 'input-available', fail: 'output-error' },
  'input-available': { ask: 'approval-requested', output: 'output-available', fail: 'output-error' },
  'approval-requested': {
    approve: 'approval-responded',
    deny: 'approval-responded',
    fail: 'output-error',
  },
  'approval-responded': { output: 'output-available', fail: 'output-error', refuse: 'output-denied' },
  'output-available': {},
  'output-error': {},
  'output-denied': {},
};

/** The state after an event, or null when the event cannot happen there. */
export function transition(state: ToolCallState, event: ToolCallEvent): ToolCallState | null {
  return TRANSITIONS[state][event] ?? null;
}

/** Whether nothing can happen to the call any more. */
export function isSettled(state: ToolCallState): boolean {
  return state === 'output-available' || state === 'output-error' || state === 'output-denied';
}

/** A tool call as far as waiting is concerned. */
export interface WaitingCall extends ToolFacts {
  state: ToolCallState;
  approved?: boolean | undefined;
}

/** Whom a call waits for: nobody (settled), the server, the client, or the person. */
export function waitingFor(call: WaitingCall): 'nobody' | 'server' | 'client' | 'person' {
  switch (call.state) {
    case 'input-streaming':
      return 'server';
    case 'input-available':
      return call.asks ? 'server' : call.runsOn;
    case 'approval-requested':
      return 'person';
    case 'approval-responded':
      return call.approved === true ? call.runsOn : 'server';
    case 'output-available':
    case 'output-error':
    case 'output-denied':
      return 'nobody';
  }
}

/** What the client says about a call: a decision of the person, or an output of the browser. */
export type Answer =
  | {
      kind: 'decision';
      toolCallId: string;
      approvalId?: string;
      approved: boolean;
      reason?: string;
      input?: unknown;
    }
  | { kind: 'output'; toolCallId: string; output: unknown; input?: unknown }
  | { kind: 'failure'; toolCallId: string; errorText: string; input?: unknown };

/** The tool name of a message part, or null when the part shows no tool call. */
export function toolNameOf(part: { type: string; toolName?: unknown }): string | null {
  if (part.type === 'dynamic-tool') return typeof part.toolName === 'string' ? part.toolName : null;
  return part.type.startsWith('tool-') ? part.type.slice('tool-'.length) : null;
}

/**
 * The answers in the parts of an assistant message, in order. An approval is read whatever state the part is in,
 * since the SDK keeps it on parts that already have an output. Anything that is not an answer is passed over.
 */
export function answersIn(parts: readonly unknown[]): Answer[] {
  const answers: Answer[] = [];
  for (const part of parts) {
    if (!isRecord(part) || typeof part.type !== 'string' || typeof part.toolCallId !== 'string') continue;
    if (toolNameOf({ type: part.type, toolName: part.toolName }) === null) continue;
    const { toolCallId } = part;
    const input = 'input' in part && part.input !== undefined ? { input: part.input } : {};
    const approval = part.approval;
    if (isRecord(approval) && typeof approval.id === 'string' && typeof approval.approved === 'boolean') {
      const reason =
        typeof approval.reason === 'string' && approval.reason ? { reason: approval.reason } : {};
      answers.push({
        kind: 'decision',
        toolCallId,
        approvalId: approval.id,
        approved: approval.approved,
        ...reason,
        ...input,
      });
    }
    if (part.type === 'tool-result') {
      answers.push({ kind: 'output', toolCallId, output: part.result ?? part.output ?? null });
    } else if (part.state === 'output-available') {
      answers.push({ kind: 'output', toolCallId, output: part.output ?? null, ...input });
    } else if (part.state === 'output-error') {
      const errorText =
        typeof part.errorText === 'string' ? part.errorText : 'The tool failed in the browser';
      answers.push({ kind: 'failure', toolCallId, errorText, ...input });
    }
  }
  return answers;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
