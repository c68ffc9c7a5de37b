import { type BaseTool, type Context, isAgentTool } from '@google/adk';
import type { ToolFacts } from '../protocol/index.ts';
import type { AgentFastPath } from './fast-path.ts';
import { DuologueTool, type ServerTools } from './tools.ts';

/** The run of an agent that is used as a tool, as the tools of that agent see it. */
export interface InnerRun {
  /** The names of the tools that ask, whatever their definitions say (`toolsRequiringApproval`). */
  readonly override: readonly string[] | undefined;
  /** Why the first refused call inside cannot wait; the outer call ends with this text. */
  refusal: string | null;
}

/** Inner runs by the abort signal of the outer call: ADK passes nothing else of that call to the runs inside, at any depth. */
const runs = new WeakMap<AbortSignal, InnerRun>();

/** The run of an agent used as a tool that a context belongs to. */
export function innerRunOf({ abortSignal }: { abortSignal?: AbortSignal | undefined }): InnerRun | undefined {
  return abortSignal && runs.get(abortSignal);
}

/**
 * Runs an agent that is used as a tool. ADK gives it a run of its own, without plugins and without a user: where a call inside would wait, ADK ends that run
 * and returns an empty text. This function throws the reason instead, and the outer call fails with it.
 */
async function runAgentTool(
  tool: BaseTool,
  request: { args: Record<string, unknown>; toolContext: Context },
  override: readonly string[] | undefined,
): Promise<unknown> {
  const { abortSignal } = request.toolContext;
  // An agent tool inside another one: the outermost call reports the refusal.
  if (!abortSignal || runs.has(abortSignal)) return tool.runAsync(request);
  const run: InnerRun = { override, refusal: null };
  runs.set(abortSignal, run);
  try {
    const output = await tool.runAsync(request);
    if (run.refusal !== null) throw new Error(run.refusal);
    return output;
  } finally {
    runs.delete(abortSignal);
  }
}

/** Refuses a call inside an agent that is used as a tool, and ends the inner run: its model cannot get the answer either. */
export function refuseInside(run: InnerRun, tool: string, asks: boolean, context: Context): never {
  const what = asks ? 'asks for an approval' : 'waits for an answer from outside';
  run.refusal ??= `${tool} ${what}, which the agent "${context.agentName}" cannot get while it is used as a tool.`;
  context.invocationContext.endInvocation = true;
  throw new Error(run.refusal);
}

/** What was decided about a call before it runs: once, so that approval request, ledger and execution agree. */
export interface Decision extends ToolFacts {
  tool: BaseTool;
  /** The arguments after validation. */
  args: Record<string, unknown>;
  /** The tool would ask, but the options of the server say that it does not. */
  waived?: true;
  /** The arguments are invalid: the call fails before the user is asked. */
  refusal?: string;
}

/** A call that ADK made and that is answered later: by the user, the browser, or a tool that runs meanwhile. */
export interface DeferredCall extends ToolFacts {
  id: string;
  toolName: string;
  args: Record<string, unknown>;
  agent: string;
  invocationId: string;
  branch: string | undefined;
  /** How long its approval request waits, when its tool says so. */
  approvalTimeoutMs?: number | null | undefined;
  /** Whether a long-running tool was started, whose output comes from outside: nobody knows when. */
  isLongRunning?: boolean;
}

/** A waiting call, as a tool of the same session sees it. */
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
  /** Defers a call. Resolves when it is recorded. */
  defer(call: DeferredCall): Promise<void>;
  /** The calls of the session that wait now. */
  openCalls(): readonly OpenCall[];
}

/** The names of the tools that ask, whatever their definitions say. */
export type ApprovalOverride = readonly string[] | undefined;

/** The decision that a call fails before the user is asked, and without running its tool. */
export function refuse(tool: BaseTool, refusal: string): Decision {
  const runsOn = tool instanceof DuologueTool ? tool.runsOn : 'server';
  return { tool, args: {}, runsOn, asks: false, refusal };
}

/** Decides where a call runs, whether it asks, and whether its arguments are valid. */
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

/** How long an approval request of a tool waits by the definition of the tool; undefined when only the server says so. */
export function approvalTimeoutOf(tool: BaseTool | undefined): number | null | undefined {
  return tool instanceof DuologueTool ? tool.approvalTimeoutMs : undefined;
}

/** Whether calls of a tool may wait for a user or a browser. */
export function mayWait(tool: BaseTool): boolean {
  if (tool instanceof DuologueTool) return tool.runsOn === 'client' || tool.mayAsk;
  // ADK hides whether a native tool asks: a predicate is known only for each call.
  const { requireConfirmation } = tool as { requireConfirmation?: unknown };
  return requireConfirmation !== undefined && requireConfirmation !== false;
}

/**
 * Waits for work, but not after a signal aborts: then the promise settles with what `aborted` returns or throws, and the work continues unobserved. A tool or a
 * reader that does not listen to its signal therefore holds up nothing.
 */
export function unlessAborted<T, A>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  aborted: () => A,
): Promise<T | A> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const abort = () => {
      signal.removeEventListener('abort', abort);
      try {
        resolve(aborted());
      } catch (error) {
        reject(error);
      }
    };
    signal.addEventListener('abort', abort);
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
    if (signal.aborted) abort();
  });
}
