import {
  answerDeferred,
  findTool,
  type InnerHost,
  type Outcome,
  runDeferred,
  ServerTools,
} from '../../adk/for-server.ts';
import type { Engine } from '../engine.ts';
import { completeFacts } from '../ledger/call-facts.ts';
import type { History } from '../ledger/history.ts';
import { placeOf, toolOf } from '../ledger/inner-runs.ts';
import { CallOutput } from '../output/call-output.ts';
import { storedOutcome } from '../output/stored-outcome.ts';
import type { CallRecord, OwnedKey } from '../store/store.ts';
import type { Circumstances, Input } from './state/inputs.ts';

/** The objects and callbacks that `ToolRunner` gets from its conversation. */
export interface ToolRunnerContext {
  key: OwnedKey;
  engine: Engine;
  history: History;
  inner: InnerHost;
  /** Applies an input that a tool causes, such as its outcome, to the state. */
  apply: (input: Input) => void;
  /** Returns the facts that a tool gets about its call, as far as the state knows them. */
  circumstancesOf: (callId: string) => Circumstances;
  /** The fields of every log line. */
  logFields: () => Record<string, unknown>;
}

/** Runs the tools of a conversation's stored calls on the server, and the after-tool callbacks. A tool starts when its call has the tool lock. */
export class ToolRunner {
  /**
   * The lock and the timeouts of the tools. ADK's own loop uses the same object, so a tool that it runs waits for the same lock. The tools inside an agent
   * that is used as a tool have a lock of their own.
   */
  readonly tools: ServerTools;
  private readonly context: ToolRunnerContext;
  private readonly releases = new Map<string, () => void>();
  private stopping = new AbortController();
  /** The ids of the calls whose tool was started in this process. */
  private readonly started = new Set<string>();
  private readonly openedAt: number;

  constructor(context: ToolRunnerContext) {
    const { key, engine, apply, logFields } = context;
    const { clock, options, owners, logger } = engine;
    this.context = context;
    this.openedAt = clock.now();
    this.tools = new ServerTools({
      timeoutMs: options.toolTimeoutMs,
      concurrent: options.concurrentTools,
      after: (ms, callback) => clock.after(ms, callback),
      outlet: (callId, tool) =>
        new CallOutput({
          ...{ tool, data: options.data, clock },
          report: (report) => apply({ ...report, callId }),
          warn: (text) => logger.warn(text, { ...logFields(), call: callId }),
        }),
      factsOf: async (callId) => {
        const known = context.circumstancesOf(callId);
        const isWhole = known.metadataBefore === undefined && !known.approverOf;
        return isWhole ? known.facts : completeFacts(known, engine.store, key);
      },
      start: (signal, run) => owners.startAsOwner(key, signal, run),
    });
  }

  /** Waits for the tool lock, and then applies the input `lock-acquired`. If tools are aborted meanwhile, there is no input. Never rejects. */
  async acquireLock(call: CallRecord): Promise<void> {
    // A call of an unknown tool waits for the lock too, and fails when it runs.
    const tool = await toolOf(this.context, call).catch(() => undefined);
    const release = await this.tools.take(tool, this.stopping.signal);
    if (!release) return;
    this.releases.set(call.id, release);
    this.context.apply({ type: 'lock-acquired', callId: call.id });
  }

  releaseLock(callId: string): void {
    this.releases.get(callId)?.();
    this.releases.delete(callId);
  }

  /** Runs the tool of a call that has the tool lock, and then applies the input `tool-ended`. Never rejects. */
  async run(call: CallRecord): Promise<void> {
    const { engine, apply, logFields } = this.context;
    const outcome = await this.outcomeOf(call, runDeferred);
    const fields = { call: call.id, tool: call.toolName, outcome: outcome.kind };
    engine.logger.info('a tool ran', { ...logFields(), ...fields });
    apply({ type: 'tool-ended', callId: call.id, outcome });
  }

  /** Calls the after-tool callbacks with an output that a client sent, and then applies the input `tool-ended`. Never rejects. */
  async runCallbacks(call: CallRecord, output: unknown): Promise<void> {
    const outcome = await this.outcomeOf(call, (execution) => answerDeferred(execution, output));
    this.context.apply({ type: 'tool-ended', callId: call.id, outcome });
  }

  /** Aborts the running tools. Calls that wait for the lock stop waiting. */
  abort(): void {
    this.stopping.abort();
    this.stopping = new AbortController();
  }

  /** Whether the tool of a call may have been started before, by this process or an earlier one. Records that this process starts it now. */
  private isContinued({ id, issuedAt }: CallRecord): boolean {
    const wasStarted = this.started.has(id) || issuedAt < this.openedAt;
    this.started.add(id);
    return wasStarted;
  }

  private async outcomeOf(call: CallRecord, run: typeof runDeferred): Promise<Outcome> {
    const { signal } = this.stopping;
    try {
      const place = await placeOf(this.context, call);
      const tool = await findTool(place, call.toolName);
      if (!tool)
        return { kind: 'error', errorText: `The agent no longer has a tool named "${call.toolName}".` };
      const outcome = await run({
        ...place,
        tool,
        tools: this.tools,
        callId: call.id,
        args: call.args,
        approved: call.approvalId !== null && call.question?.kind !== 'sign-in',
        answer: call.answer,
        credentials: this.context.engine.toolSignIns,
        signal,
        host: this.context.inner,
        place: call.agents,
        isContinued: this.isContinued(call),
      });
      return await storedOutcome(this.context, outcome, call.toolName);
    } catch (error) {
      return { kind: 'error', errorText: error instanceof Error ? error.message : String(error) };
    }
  }
}
