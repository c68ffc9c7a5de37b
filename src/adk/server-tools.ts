import { type BaseTool, Context, createEventActions, isAgentTool } from '@google/adk';
import { toolTimedOut } from '../protocol/index.ts';
import { DuologueTool } from './tools.ts';

/** How the server tools of a session run. */
export interface ServerToolRules {
  /** How long a tool may take, in milliseconds; null is for ever. */
  timeoutMs: number | null;
  /** Names of tools that change nothing, so that they run beside others. */
  concurrent: readonly string[];
  /** Calls back after that many milliseconds; the returned function cancels. */
  after: (ms: number, callback: () => void) => () => void;
  /** Starts a tool when this process may, and rejects when it may not; at once unless given. */
  start?: <T>(signal: AbortSignal, run: () => Promise<T>) => Promise<T>;
}

/** How long an aborted tool that has no deadline may keep the slot. */
const LEAVE_MS = 60_000;

/**
 * Runs the server tools of one session: one after the other, each in its time. A tool reads state, thinks, and writes
 * absolute values; two side by side would each undo what the other wrote.
 */
export class ServerTools {
  private readonly rules: ServerToolRules;
  private last: Promise<void> = Promise.resolve();

  constructor(rules: ServerToolRules) {
    this.rules = rules;
  }

  /** Waits for the slot, which the returned function gives back; null when the signal came first. */
  async take(tool: BaseTool | undefined, signal: AbortSignal | undefined): Promise<(() => void) | null> {
    if (signal?.aborted) return null;
    if (tool && this.isConcurrent(tool)) return () => undefined;
    const before = this.last;
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    // Whoever comes next waits for all before it, also when this one leaves the queue early.
    this.last = before.then(() => held);
    await firstOf(before, signal);
    if (!signal?.aborted) return release;
    release();
    return null;
  }

  /**
   * Runs a tool that has the slot, and ends when it does or its time is up. An abort reaches the tool through its signal;
   * a tool that does not listen keeps the slot until it ends or is late. What a late one still writes is not kept.
   */
  async run<T>(
    tool: BaseTool,
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { after } = this.rules;
    const timeoutMs = isAgentTool(tool) ? null : this.rules.timeoutMs;
    const stop = new AbortController();
    const cancels: (() => void)[] = [];
    const late = new Promise<never>((_, reject) => {
      const end = () => {
        const error = new Error(toolTimedOut(tool.name));
        reject(error);
        stop.abort(error);
      };
      const abort = () => {
        stop.abort(signal?.reason);
        if (timeoutMs === null) cancels.push(after(LEAVE_MS, end));
      };
      if (timeoutMs !== null) cancels.push(after(timeoutMs, end));
      if (signal?.aborted) abort();
      else signal?.addEventListener('abort', abort, { once: true });
      cancels.push(() => signal?.removeEventListener('abort', abort));
    });
    try {
      return await Promise.race([work(stop.signal), late]);
    } finally {
      for (const cancel of cancels) cancel();
    }
  }

  /** Starts the code of a tool, if this process may still run it. `signal` is the one that `run` gave. */
  start<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T> {
    return this.rules.start ? this.rules.start(signal, run) : run();
  }

  /** Runs a tool inside ADK's loop: waits for the slot, and keeps what the tool changed once it has ended well. */
  async runInLoop(
    tool: BaseTool,
    context: Context,
    work: (context: Context) => Promise<unknown>,
  ): Promise<unknown> {
    const release = await this.take(tool, context.abortSignal);
    if (!release) throw new Error('The call was aborted.');
    try {
      return await this.run(tool, context.abortSignal, async (signal) => {
        const own = apart(context, signal);
        const output = await this.start(signal, () => work(own));
        if (!signal.aborted) keep(own, context);
        return output;
      });
    } finally {
      release();
    }
  }

  private isConcurrent(tool: BaseTool): boolean {
    // What runs in the browser is only announced here.
    if (tool instanceof DuologueTool && (tool.isConcurrent || tool.runsOn === 'client')) return true;
    return this.rules.concurrent.includes(tool.name);
  }
}

/** A tool's context with state and actions of its own: one that is too late, or fails, leaves nothing behind. */
function apart(context: Context, abortSignal: AbortSignal): Context {
  const { invocationContext, functionCallId, toolConfirmation } = context;
  const { session } = invocationContext;
  return new Context({
    invocationContext: invocationContext.clone({
      session: { ...session, state: { ...session.state } },
      abortSignal,
    }),
    eventActions: createEventActions({}),
    ...(functionCallId === undefined ? {} : { functionCallId }),
    ...(toolConfirmation === undefined ? {} : { toolConfirmation }),
  });
}

function keep(own: Context, context: Context): void {
  const { stateDelta, artifactDelta, requestedAuthConfigs, requestedToolConfirmations, ...others } =
    own.actions;
  const { actions } = context;
  context.state.update(stateDelta);
  Object.assign(actions.artifactDelta, artifactDelta);
  Object.assign(actions.requestedAuthConfigs, requestedAuthConfigs);
  Object.assign(actions.requestedToolConfirmations, requestedToolConfirmations);
  for (const [name, value] of Object.entries(others)) {
    if (value !== undefined) Object.assign(actions, { [name]: value });
  }
  if (own.invocationContext.endInvocation) context.invocationContext.endInvocation = true;
}

/** Resolves when the work is done or the signal comes; never rejects. */
function firstOf(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (!signal) return work;
  return new Promise((resolve) => {
    const leave = () => resolve();
    signal.addEventListener('abort', leave, { once: true });
    work
      .catch(() => undefined)
      .finally(() => {
        signal.removeEventListener('abort', leave);
        resolve();
      });
  });
}
