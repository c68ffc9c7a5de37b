import { findTool, type Outcome, runDeferred, ServerTools } from '../adk/engine.ts';
import type { Calls } from './calls.ts';
import type { Engine } from './engine.ts';
import type { History } from './history.ts';
import { SIGNED_OUT_END } from './settlement.ts';
import type { CallRecord } from './store/store.ts';

/** What running the tools of a session needs from around it. */
export interface ToolRunsContext {
  engine: Engine;
  history: History;
  calls: Calls;
  /** A tool ran, to this kind of outcome. */
  onRan: (toolCallId: string, toolName: string, outcome: string) => void;
}

/** How one tool is run. */
export interface ToolRun {
  signal: AbortSignal;
  /** Writes the outcome down, or lets go of it; the next tool begins after that, and sees what this one changed. */
  settle: (call: CallRecord, outcome: Outcome) => Promise<void>;
}

/** Runs the recorded calls of a session on the server, one after the other. */
export class ToolRuns {
  /** The slot and the clock of the session's tools; ADK's loop uses them too. */
  readonly tools: ServerTools;
  private readonly context: ToolRunsContext;
  /** Calls that have the slot or wait for it. */
  private readonly begun = new Set<string>();

  constructor(context: ToolRunsContext) {
    const { clock, options } = context.engine;
    this.context = context;
    this.tools = new ServerTools({
      timeoutMs: options.toolTimeoutMs,
      concurrent: options.concurrentTools,
      after: (ms, callback) => clock.after(ms, callback),
    });
  }

  /** Whether an open call runs here, or waits to. */
  get isBusy(): boolean {
    for (const id of this.begun) if (this.context.calls.get(id)) return true;
    return false;
  }

  /**
   * Runs the tool of a call when its turn comes. Until then the call stands in the store as it did before: a process that
   * dies meanwhile leaves it to be run. Does nothing when the call runs already, or has ended when its turn comes.
   */
  async run(call: CallRecord, { signal, settle }: ToolRun): Promise<void> {
    const { calls, history, onRan } = this.context;
    if (this.begun.has(call.id)) return;
    this.begun.add(call.id);
    let release: (() => void) | null = null;
    try {
      const place = { ...this.placeOf(call), session: await history.load() };
      const tool = await findTool(place, call.toolName);
      release = await this.tools.take(tool, signal);
      if (!release) return;
      if (await this.hasLostItsPerson(call)) {
        const ended = await calls.withdraw(call);
        if (ended) await settle(ended, SIGNED_OUT_END);
        return;
      }
      const running = await calls.begin(call);
      if (!running) return;
      if (!tool) {
        const errorText = `There is no tool named "${call.toolName}" any more.`;
        return await settle(running, { kind: 'error', errorText });
      }
      const outcome = await runDeferred({
        ...place,
        // Read again: the tool before this one may have changed it.
        session: await history.load(),
        tool,
        tools: this.tools,
        callId: call.id,
        args: call.args,
        approved: call.approvalId !== null,
        signal,
      });
      onRan(call.id, call.toolName, outcome.kind);
      await settle(running, inWords(outcome, call.toolName));
    } finally {
      this.begun.delete(call.id);
      release?.();
    }
  }

  /**
   * Whether the person who approved the call is signed in no more. When that cannot be found out the call goes on: it was
   * found out when they decided.
   */
  private async hasLostItsPerson(call: CallRecord): Promise<boolean> {
    const { calls, engine } = this.context;
    const person = calls.deciderOf(call);
    return person !== undefined && (await engine.signIn.ask(person)) === 'signed-out';
  }

  private placeOf({ agent, invocationId }: CallRecord) {
    const { rootAgent, sessionService, runner } = this.context.engine;
    return { rootAgent, sessionService, pluginManager: runner.pluginManager, agent, invocationId };
  }
}

/** An outcome as it will be read again; an output that has no JSON is a failure of the tool. */
function inWords(outcome: Outcome, toolName: string): Outcome {
  if (outcome.kind === 'error') return { kind: 'error', errorText: String(outcome.errorText) };
  if (outcome.kind !== 'output') return outcome;
  try {
    const text = JSON.stringify(outcome.output) ?? 'null';
    JSON.stringify(outcome.actions);
    return { ...outcome, output: JSON.parse(text) as unknown };
  } catch {
    return { kind: 'error', errorText: `${toolName} ran, but what it gave cannot be written as JSON.` };
  }
}
