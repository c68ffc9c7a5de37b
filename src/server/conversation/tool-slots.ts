import { answerDeferred, findTool, type Outcome, runDeferred, ServerTools } from '../../adk/for-server.ts';
import type { Engine } from '../engine.ts';
import type { History } from '../ledger/history.ts';
import type { CallRecord, OwnedKey } from '../store/store.ts';
import type { Input } from './machine/inputs.ts';

/** What running tools needs from around it. */
export interface ToolSlotsContext {
  key: OwnedKey;
  engine: Engine;
  history: History;
  push: (input: Input) => void;
  log: (level: 'info', text: string, fields: Record<string, unknown>) => void;
}

/** Runs the recorded calls of a conversation on the server: the slot they share, and the tools themselves. */
export class ToolSlots {
  /** The slot and the clock of the tools; ADK's own loop uses them too. */
  readonly tools: ServerTools;
  private readonly context: ToolSlotsContext;
  private readonly releases = new Map<string, () => void>();
  private stopping = new AbortController();

  constructor(context: ToolSlotsContext) {
    const { key, engine } = context;
    const { clock, options, owners } = engine;
    this.context = context;
    this.tools = new ServerTools({
      timeoutMs: options.toolTimeoutMs,
      concurrent: options.concurrentTools,
      after: (ms, callback) => clock.after(ms, callback),
      start: (signal, run) => owners.startAsOwner(key, signal, run),
    });
  }

  /** Waits for the slot. A call that leaves the line because tools are stopped gets nothing. Never rejects. */
  async want(call: CallRecord): Promise<void> {
    // One that cannot be found waits as well: what is wrong is told when it is to run.
    const tool = await this.toolOf(call).catch(() => undefined);
    const release = await this.tools.take(tool, this.stopping.signal);
    if (!release) return;
    this.releases.set(call.id, release);
    this.context.push({ type: 'slot', callId: call.id });
  }

  giveBack(callId: string): void {
    this.releases.get(callId)?.();
    this.releases.delete(callId);
  }

  /** Runs a tool that has the slot. Never rejects. */
  async run(call: CallRecord): Promise<void> {
    const { push, log } = this.context;
    const outcome = await this.outcomeOf(call, runDeferred);
    log('info', 'a tool ran', { call: call.id, tool: call.toolName, outcome: outcome.kind });
    push({ type: 'tool-ended', callId: call.id, outcome });
  }

  /** Calls the after-tool callbacks for an output that came from outside. Never rejects. */
  async answer(call: CallRecord, output: unknown): Promise<void> {
    const outcome = await this.outcomeOf(call, (execution) => answerDeferred(execution, output));
    this.context.push({ type: 'tool-ended', callId: call.id, outcome });
  }

  /** Tells the tools that run, and those that wait to, that nobody wants them any more. */
  abort(): void {
    this.stopping.abort();
    this.stopping = new AbortController();
  }

  private async outcomeOf(call: CallRecord, run: typeof runDeferred): Promise<Outcome> {
    const { signal } = this.stopping;
    try {
      const place = await this.placeOf(call);
      const tool = await findTool(place, call.toolName);
      if (!tool) return { kind: 'error', errorText: `There is no tool named "${call.toolName}" any more.` };
      const outcome = await run({
        ...place,
        tool,
        tools: this.tools,
        callId: call.id,
        args: call.args,
        approved: call.approvalId !== null,
        signal,
      });
      return inWords(outcome, call.toolName);
    } catch (error) {
      return { kind: 'error', errorText: error instanceof Error ? error.message : String(error) };
    }
  }

  private async toolOf(call: CallRecord) {
    return findTool(await this.placeOf(call), call.toolName);
  }

  private async placeOf({ agent, invocationId }: CallRecord) {
    const { rootAgent, sessionService, runner } = this.context.engine;
    const session = await this.context.history.loadForTools();
    return { rootAgent, sessionService, pluginManager: runner.pluginManager, agent, invocationId, session };
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
    return { kind: 'error', errorText: `${toolName} ran, but its output cannot be written as JSON.` };
  }
}
