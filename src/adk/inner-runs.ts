import type { BaseTool, Context } from '@google/adk';

/** The run of an agent that is used as a tool, as the tools of that agent see it. */
export interface InnerRun {
  /** Which tools ask by name, whatever their definitions say. */
  readonly override: readonly string[] | undefined;
  /** Why a call inside cannot go on; the first one is how the call of the outer tool ends. */
  refusal: string | null;
}

/** By the signal that stops the outer call: ADK hands it on to the run inside, however deep, and nothing else. */
const runs = new WeakMap<AbortSignal, InnerRun>();

/** The run of an agent used as a tool that a context belongs to. */
export function innerRunOf({ abortSignal }: { abortSignal?: AbortSignal | undefined }): InnerRun | undefined {
  return abortSignal && runs.get(abortSignal);
}

/**
 * Runs an agent that is used as a tool. ADK runs it apart, without plugins and without anyone to ask: where a call inside would wait, ADK
 * ends that run and returns an empty text. Here the outer call fails with the reason.
 */
export async function runAgentTool(
  tool: BaseTool,
  request: { args: Record<string, unknown>; toolContext: Context },
  override: readonly string[] | undefined,
): Promise<unknown> {
  const { abortSignal } = request.toolContext;
  // An agent used as a tool by one that is used as a tool.
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

/** Refuses a call inside of an agent that is used as a tool, and ends its run: the model there can do nothing about it. */
export function refuseInside(run: InnerRun, tool: string, asks: boolean, context: Context): never {
  const what = asks ? 'asks for an approval' : 'waits for an answer from outside';
  run.refusal ??= `${tool} ${what}, which the agent "${context.agentName}" cannot get while it is used as a tool.`;
  context.invocationContext.endInvocation = true;
  throw new Error(run.refusal);
}
