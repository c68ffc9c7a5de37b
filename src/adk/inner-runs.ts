import type { BaseTool, Context } from '@google/adk';

/** The run of an agent that is used as a tool, as the tools of that agent see it. */
export interface InnerRun {
  /** The names of the tools that ask, whatever their definitions say (`toolsRequiringApproval`). */
  readonly override: readonly string[] | undefined;
  /** Why the first refused call inside cannot wait; the outer call ends with this text. */
  refusal: string | null;
}

/** Inner runs by the abort signal of the outer call: of that call ADK hands nothing but the signal on to runs inside, at any depth. */
const runs = new WeakMap<AbortSignal, InnerRun>();

/** The run of an agent used as a tool that a context belongs to. */
export function innerRunOf({ abortSignal }: { abortSignal?: AbortSignal | undefined }): InnerRun | undefined {
  return abortSignal && runs.get(abortSignal);
}

/**
 * Runs an agent that is used as a tool. ADK gives it a run of its own, without plugins and without a way to the person: where a call inside
 * would wait, ADK ends that run and returns an empty text. This function throws the reason instead, and the outer call fails with it.
 */
export async function runAgentTool(
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
