import type { UIMessage } from 'ai';
import type { ToolFacts } from '../protocol/chunks.ts';
import { type ToolCallState, toolNameOf } from '../protocol/tool-call.ts';

/** A part that shows a tool call, whichever state it is in. */
export interface ToolPart {
  type: string;
  toolCallId: string;
  state: ToolCallState;
  toolName?: string;
  input?: unknown;
  output?: unknown;
  errorText?: string;
  toolMetadata?: unknown;
  providerExecuted?: boolean;
  preliminary?: boolean;
  approval?: { id: string; approved?: boolean; reason?: string };
}

/** The tool calls of a message, in order. */
export function toolPartsOf(parts: readonly UIMessage['parts'][number][]): ToolPart[] {
  return parts.filter((part) => 'toolCallId' in part && toolNameOf(part) !== null) as unknown as ToolPart[];
}

/** The two facts of a tool, as far as a part or chunk tells them. */
export function factsOf(metadata: unknown, asks = false): ToolFacts {
  const facts = (metadata ?? {}) as Partial<ToolFacts>;
  return {
    runsOn: facts.runsOn === 'client' ? 'client' : 'server',
    asks: facts.asks === true || asks,
    ...(facts.optimistic === true ? { optimistic: true } : {}),
  };
}
