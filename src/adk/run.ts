import { type BaseTool, type Context, isAgentTool } from '@google/adk';
import type { ToolFacts } from '../protocol/index.ts';
import type { AgentFastPath } from './fast-path.ts';
import { runAgentTool } from './inner-runs.ts';
import type { ServerTools } from './server-tools.ts';
import { DuologueTool } from './tools.ts';

/** What was found out about a call before it runs: once, so that card, ledger and execution agree. */
export interface Decision extends ToolFacts {
  tool: BaseTool;
  /** The arguments as the tool reads them. */
  args: Record<string, unknown>;
  /** The tool would ask, but the server was told that it does not. */
  waived?: true;
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

/** A call that waits, as a tool of the same session sees it. */
export interface OpenCall {
  id: string;
  toolName: string;
  args: Record<string, unknown>;
  runsOn: 'server' | 'client';
}

/** One run of an agent as its tools see it. */
export interface Run {
  readonly live: boolean;
  /** Whether a browser tool that has an optimistic output is answered with it at once. */
  readonly optimistic?: boolean;
  /** Passes partial texts around ADK. */
  readonly fastPath?: AgentFastPath;
  /** Runs the tools that ADK's loop calls. */
  readonly tools: ServerTools;
  /** Takes a call that is answered later. Resolves when it is recorded. */
  defer(call: DeferredCall): Promise<void>;
  /** The calls of the session that wait now. */
  openCalls(): readonly OpenCall[];
}

/** Which tools ask by name, whatever their definitions say. */
export type ApprovalOverride = readonly string[] | undefined;

/** The decision that a call fails, without anyone being asked and without its tool. */
export function refuse(tool: BaseTool, refusal: string): Decision {
  const runsOn = tool instanceof DuologueTool ? tool.runsOn : 'server';
  return { tool, args: {}, runsOn, asks: false, refusal };
}

/** Where the call runs, whether it asks, and whether its arguments can work at all. */
export async function decide(
  tool: BaseTool,
  args: Record<string, unknown>,
  context: Context,
  override: ApprovalOverride,
): Promise<Decision> {
  if (!(tool instanceof DuologueTool)) {
    return {
      tool,
      args,
      runsOn: 'server',
      ...asking(tool, await asksNatively(tool, args, context), override),
    };
  }
  const { runsOn } = tool;
  try {
    const valid = await tool.validate(args, context);
    return { tool, args: valid, runsOn, ...asking(tool, await tool.asks(valid, context), override) };
  } catch (error) {
    const refusal = error instanceof Error ? error.message : String(error);
    return { tool, args, runsOn, asks: false, refusal };
  }
}

function asking(tool: BaseTool, asks: boolean, override: ApprovalOverride): { asks: boolean; waived?: true } {
  if (!override) return { asks };
  return override.includes(tool.name) ? { asks: true } : { asks: false, ...(asks ? { waived: true } : {}) };
}

/** Runs a tool that the gate has allowed. `override` applies to the tools inside an agent that is used as a tool. */
export function runDecided(
  tool: BaseTool,
  request: { args: Record<string, unknown>; toolContext: Context },
  override: ApprovalOverride,
): Promise<unknown> {
  if (isAgentTool(tool)) return runAgentTool(tool, request, override);
  return tool instanceof DuologueTool ? tool.runDecided(request) : tool.runAsync(request);
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

/** Whether calls of a tool may wait for a person or a browser. */
export function mayWait(tool: BaseTool): boolean {
  if (tool instanceof DuologueTool) return tool.runsOn === 'client' || tool.mayAsk;
  // ADK keeps what a native tool demands to itself: a predicate is only known call by call.
  const { requireConfirmation } = tool as { requireConfirmation?: unknown };
  return requireConfirmation !== undefined && requireConfirmation !== false;
}
