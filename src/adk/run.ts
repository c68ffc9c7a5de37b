import type { BaseTool, Context } from '@google/adk';
import type { ToolFacts } from '../protocol/index.ts';
import { DuologueTool } from './tools.ts';

/** What was found out about a call before it runs: once, so that card, ledger and execution agree. */
export interface Decision extends ToolFacts {
  tool: BaseTool;
  /** The arguments cannot work: the call fails without anyone being asked. */
  refusal?: string;
}

/** A call that ADK made and that is answered later: by the person, the browser, or a tool that runs meanwhile. */
export interface DeferredCall extends ToolFacts {
  id: string;
  toolName: string;
  args: Record<string, unknown>;
  agent: string;
  invocationId: string;
  branch: string | undefined;
}

/** One run of an agent as its tools see it: turn by turn (SSE) or live (BIDI). */
export interface Run {
  readonly live: boolean;
  /** Takes a call that is answered later. Resolves when it is recorded. */
  defer(call: DeferredCall): Promise<void>;
}

/** Which tools ask by name, whatever their definitions say. */
export type ApprovalOverride = readonly string[] | undefined;

/** Where the call runs, whether it asks, and whether its arguments can work at all. */
export async function decide(
  tool: BaseTool,
  args: Record<string, unknown>,
  context: Context,
  override: ApprovalOverride,
): Promise<Decision> {
  if (!(tool instanceof DuologueTool)) {
    const asks = override ? override.includes(tool.name) : await asksNatively(tool, args, context);
    return { tool, runsOn: 'server', asks };
  }
  const { runsOn } = tool;
  try {
    await tool.validate(args, context);
  } catch (error) {
    return { tool, runsOn, asks: false, refusal: error instanceof Error ? error.message : String(error) };
  }
  return { tool, runsOn, asks: override ? override.includes(tool.name) : await tool.asks(args, context) };
}

async function asksNatively(
  tool: BaseTool,
  args: Record<string, unknown>,
  context: Context,
): Promise<boolean> {
  try {
    return await tool.checkRequireConfirmation(args, context);
  } catch {
    return true;
  }
}
