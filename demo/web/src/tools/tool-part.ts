import type { AskedQuestion, MessagePart } from 'duologue/protocol';

/** A part that shows a tool call, with the fields that its states share. */
export interface ToolPart {
  type: string;
  toolName?: string;
  toolCallId: string;
  state:
    | 'input-streaming'
    | 'input-available'
    | 'approval-requested'
    | 'approval-responded'
    | 'output-available'
    | 'output-error'
    | 'output-denied';
  input?: unknown;
  output?: unknown;
  /** Whether the output is only progress, because the tool still runs. */
  preliminary?: boolean;
  errorText?: string;
  toolMetadata?: {
    runsOn?: 'server' | 'client';
    asks?: boolean;
    agents?: readonly string[];
    question?: AskedQuestion;
  };
  approval?: {
    id: string;
    approved?: boolean;
    reason?: string;
    descriptor?: {
      expiresAt?: number;
      queued?: number;
      message?: string;
      payload?: AskedQuestion['payload'];
      signInUrl?: string;
    };
  };
}

/** Whether a call has its output. A preliminary output is only progress. */
export function hasOutput(part: ToolPart): boolean {
  return part.state === 'output-available' && part.preliminary !== true;
}

/** Whether a call shows its progress. */
export function isInProgress(part: ToolPart): boolean {
  return part.state === 'output-available' && part.preliminary === true;
}

/** The part as a tool call; null for any other part. */
export function asToolPart(part: MessagePart): ToolPart | null {
  return 'toolCallId' in part ? (part as unknown as ToolPart) : null;
}

/** The name of the tool that a part shows. */
export function toolName(part: ToolPart): string {
  return part.type === 'dynamic-tool' ? (part.toolName ?? '') : part.type.replace(/^tool-/, '');
}

/** The value if it is an object, otherwise an empty object. A list is no object here. */
export function fields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}
