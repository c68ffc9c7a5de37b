import type { UIDataTypes, UIMessage, UITools } from 'ai';
import { outputTimedOut } from '../protocol/chunks.ts';
import type { Timers } from './platform.ts';

/** The second argument of a browser tool. The first one is the input of the call. */
export interface ExecutorContext {
  toolCallId: string;
  /** Aborted when no output is needed any longer: the call has an outcome, was interrupted or ran out of time, or the connection has ended. */
  signal: AbortSignal;
}

/** A browser tool. Its return value is the output of the call; an error that it throws is the failure of the call. */
export type Executor<Input = never, Output = unknown> = (
  input: Input,
  context: ExecutorContext,
) => Output | Promise<Output>;

/** The browser tools of a page, by name. */
export type Executors = Readonly<Record<string, Executor>>;

type ToolsOf<M extends UIMessage> = M extends UIMessage<unknown, UIDataTypes, infer TOOLS> ? TOOLS : UITools;

/** The names of the tools whose `runsOn` is `Place`. The place `unknown` selects tools without `runsOn`. */
type NamesAt<TOOLS, Place> = {
  [Name in keyof TOOLS]: (TOOLS[Name] extends { runsOn: infer RunsOn } ? RunsOn : 'unknown') extends Place
    ? Name
    : never;
}[keyof TOOLS];

type ExecutorOf<TOOLS, Name extends keyof TOOLS> = TOOLS[Name] extends {
  input: infer Input;
  output: infer Output;
}
  ? Executor<Input, Output>
  : never;

/**
 * The executors for the tools in the messages of a chat. Each tool of `Message<typeof tools>` that runs in the browser must have an executor, and no
 * other tool may have one. The type `InferUITools<typeof tools>` does not say where a tool runs, so there each tool may have an executor.
 */
export type ExecutorsFor<M extends UIMessage> = string extends keyof ToolsOf<M>
  ? Executors
  : {
      readonly [Name in NamesAt<ToolsOf<M>, 'client'>]: ExecutorOf<ToolsOf<M>, Name>;
    } & {
      readonly [Name in NamesAt<ToolsOf<M>, 'unknown'>]?: ExecutorOf<ToolsOf<M>, Name>;
    };

/** An option for the browser tools. It is required when some tool must have an executor. */
export type ExecutorOption<Option extends string, M extends UIMessage> =
  Record<never, never> extends ExecutorsFor<M>
    ? { [Name in Option]?: ExecutorsFor<M> | undefined }
    : { [Name in Option]: ExecutorsFor<M> };

/** The outcome of a browser tool. */
export type ExecutorResult = { output: unknown } | { errorText: string };

/** Which browser tools a page has, and how long each may run. */
export interface ExecutorOptions {
  /** The browser tools of this page. The transport runs them and sends their outputs. */
  executors?: Executors | undefined;
  /** How many milliseconds a browser tool may run. Default: 60,000. */
  executorTimeoutMs?: number | undefined;
}

const TIMEOUT_MS = 60_000;

/** Runs browser tools. A runner starts each call at most once. */
export class ToolRunner {
  readonly #executors: Executors;
  readonly #timers: Timers;
  readonly #timeoutMs: number;
  readonly #started = new Set<string>();
  readonly #running = new Map<string, AbortController>();

  constructor({ executors = {}, executorTimeoutMs = TIMEOUT_MS }: ExecutorOptions, timers: Timers) {
    this.#executors = executors;
    this.#timers = timers;
    this.#timeoutMs = executorTimeoutMs;
  }

  /** Whether this runner has started the call. */
  hasStarted(toolCallId: string): boolean {
    return this.#started.has(toolCallId);
  }

  /** Runs the call and resolves with its outcome. Resolves with null when the call was started before, is cancelled, or has no executor. */
  async run(call: { id: string; toolName: string; input: unknown }): Promise<ExecutorResult | null> {
    const { id, toolName, input } = call;
    const executor = Object.hasOwn(this.#executors, toolName) ? this.#executors[toolName] : undefined;
    if (!executor || this.#started.has(id)) return null;
    this.#started.add(id);
    const controller = new AbortController();
    this.#running.set(id, controller);
    const { signal } = controller;
    const result = await new Promise<ExecutorResult | null>((resolve) => {
      const onTimeout = () => resolve({ errorText: outputTimedOut(toolName) });
      const cancelTimeout = this.#timers.after(this.#timeoutMs, onTimeout);
      signal.addEventListener('abort', () => {
        cancelTimeout();
        resolve(null);
      });
      void execute(executor, input, { toolCallId: id, signal }).then(resolve);
    });
    const isCancelled = signal.aborted;
    this.#running.delete(id);
    controller.abort();
    return isCancelled ? null : result;
  }

  /** Aborts a running call whose output is no longer needed. */
  cancel(toolCallId: string): void {
    this.#running.get(toolCallId)?.abort();
  }

  cancelAll(): void {
    for (const controller of this.#running.values()) controller.abort();
  }
}

async function execute(
  executor: Executor,
  input: unknown,
  context: ExecutorContext,
): Promise<ExecutorResult> {
  try {
    const output = await (executor as Executor<unknown>)(input, context);
    // This throws for an output that cannot be written as JSON. Such a call fails.
    JSON.stringify(output);
    return { output: output ?? null };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return { errorText: text || 'The tool failed in the browser' };
  }
}
