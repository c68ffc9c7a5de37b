import { outputTimedOut } from '../protocol/chunks.ts';
import type { TrackedCall } from './call-tracker.ts';
import type { Timers } from './timers.ts';

/** What a browser tool gets beside its input. */
export interface ExecutorContext {
  toolCallId: string;
  /** Aborted when nobody waits for the output any more: the call was settled, interrupted, or ran out of time. */
  signal: AbortSignal;
}

/** A browser tool: what it returns is the output of the call, what it throws is its error. */
export type Executor<Input = never, Output = unknown> = (
  input: Input,
  context: ExecutorContext,
) => Output | Promise<Output>;

/** The browser tools of a page, by name. */
export type Executors = Readonly<Record<string, Executor>>;

/** How a browser tool ended. */
export type ExecutorResult = { output: unknown } | { errorText: string };

/** Which browser tools a page has, and how long each may take. */
export interface ExecutorOptions {
  /** The browser tools of this page; the transport runs them and sends what they give. */
  executors?: Executors | undefined;
  /** How long a browser tool may take. */
  executorTimeoutMs?: number | undefined;
}

const TIMEOUT_MS = 60_000;

/** Runs browser tools, each call once in the life of the page. */
export class ExecutorRuns {
  readonly #executors: Executors;
  readonly #timers: Timers;
  readonly #timeoutMs: number;
  readonly #begun = new Set<string>();
  readonly #running = new Map<string, AbortController>();

  constructor(options: ExecutorOptions, timers: Timers) {
    this.#executors = options.executors ?? {};
    this.#timers = timers;
    this.#timeoutMs = options.executorTimeoutMs ?? TIMEOUT_MS;
  }

  has(toolName: string): boolean {
    return Object.hasOwn(this.#executors, toolName);
  }

  /** Whether the call was begun in this page. */
  hasBegun(toolCallId: string): boolean {
    return this.#begun.has(toolCallId);
  }

  /** Runs the call; null when it ran before, was cancelled, or has no executor. */
  async run(call: Pick<TrackedCall, 'id' | 'toolName' | 'input'>): Promise<ExecutorResult | null> {
    const { id, toolName, input } = call;
    const executor = this.has(toolName) ? this.#executors[toolName] : undefined;
    if (!executor || this.#begun.has(id)) return null;
    this.#begun.add(id);
    const controller = new AbortController();
    this.#running.set(id, controller);
    const { signal } = controller;
    const result = await Promise.race([
      execute(executor, input, { toolCallId: id, signal }),
      new Promise<null>((resolve) => signal.addEventListener('abort', () => resolve(null))),
      this.#timeout(toolName, signal),
    ]);
    const isCancelled = signal.aborted;
    this.#running.delete(id);
    controller.abort();
    return isCancelled ? null : result;
  }

  /** Nobody waits for the call any more. */
  cancel(toolCallId: string): void {
    this.#running.get(toolCallId)?.abort();
  }

  cancelAll(): void {
    for (const controller of this.#running.values()) controller.abort();
  }

  #timeout(toolName: string, signal: AbortSignal): Promise<ExecutorResult> {
    return new Promise((resolve) => {
      const cancel = this.#timers.after(this.#timeoutMs, () =>
        resolve({ errorText: outputTimedOut(toolName) }),
      );
      signal.addEventListener('abort', cancel);
    });
  }
}

async function execute(
  executor: Executor,
  input: unknown,
  context: ExecutorContext,
): Promise<ExecutorResult> {
  try {
    const output = await (executor as Executor<unknown>)(input, context);
    // What cannot be sent is the tool's mistake too, and the agent must hear of it.
    JSON.stringify(output);
    return { output: output ?? null };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return { errorText: text || 'The tool failed in the browser' };
  }
}
