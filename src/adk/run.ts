import {
  type BaseTool,
  type Context,
  createEventActions,
  type Event,
  type EventActions,
  isAgentTool,
  type Session,
} from '@google/adk';
import { type ToolFacts, toolTimedOut } from '../protocol/index.ts';
import { isQuestionTool, questionOf } from './questions.ts';
import type { AgentFastPath, ClaimCallId } from './request-hooks.ts';
import { type CallFacts, CallLink, type CallOutlet, ToolContext } from './tool-context.ts';
import { DuologueTool } from './tools.ts';

/**
 * The decision about a call. It is made before the call runs, and again only if a callback changes the arguments, so that the approval request, the stored
 * call and the execution agree.
 */
export interface Decision extends ToolFacts {
  tool: BaseTool;
  /** The arguments after validation. */
  args: Record<string, unknown>;
  /** The tool would ask for approval, but the server option `toolsRequiringApproval` does not name it. */
  waived?: true;
  /** The arguments are invalid, or the tool denies the call: it fails before the user is asked. */
  refusal?: string;
  /** The text of the approval request, when `needsApproval` of the tool returned one (`reason`). */
  approvalMessage?: string;
}

/** The place of a call among agents that are used as tools. */
export interface AgentPlace {
  /** For a call made by an agent that is used as a tool: the id of the call of that tool. Null for a call of one of the conversation's own agents. */
  within: string | null;
  /** The names of the agents from the outside in: first the agent of the conversation, last the agent that made this call. */
  path: string[];
  /** Whether the tool of this call is an agent that can pause: its run continues when the calls within it have ended. */
  isAgent: boolean;
}

/** Functions of the conversation for its runs, and for the runs of agents that are used as tools. */
export interface InnerHost {
  /**
   * Returns the session of an agent that is used as a tool, with its newest events. Creates it with `state` when there is none. Makes this process its
   * owner.
   */
  open(agentName: string, state: Record<string, unknown>): Promise<Session>;
  /** Whether the store has older events of this session than those that `open` returned with it. */
  hasOlder(session: Session): boolean;
  /**
   * Finds the recorded call with this id. Returns the id of the call that it was made within (null for a call of one of the conversation's own agents), and
   * whether it has ended. Null when no such call is recorded.
   */
  find(callId: string): Promise<{ within: string | null; hasEnded: boolean } | null>;
  /** Returns the events that answer the calls `ids`, which were made within the call `callId`. The keys are the ids of the answered calls. */
  answersWithin(callId: string, ids: ReadonlySet<string>): Promise<Map<string, Event>>;
  /** Records a call that was made within a recorded call. Resolves when it is recorded. */
  defer(call: DeferredCall): Promise<void>;
  /** Reserves the id of a call, in the conversation and in all agents that are used as its tools. */
  readonly claimCallId: ClaimCallId;
  /** Calls that are not recorded yet, by id. The call that they were made within is recorded first. */
  readonly pending: Map<string, DeferredCall>;
}

/** A call that ADK's loop does not answer. It is answered later: by the user, by the browser, or by a tool that runs outside the loop. */
export interface DeferredCall extends Omit<ToolFacts, 'agents'> {
  /** Set for a call inside an agent that is used as a tool, and for a call whose tool is an agent that can pause; absent for any other call. */
  agents?: AgentPlace | undefined;
  id: string;
  toolName: string;
  args: Record<string, unknown>;
  agent: string;
  invocationId: string;
  branch: string | undefined;
  /** How long the approval request of the call waits, as its tool defines it; null means no limit, undefined that the option of the server applies. */
  approvalTimeoutMs?: number | null | undefined;
  /** The text of the approval request of the call; undefined when its tool and its callbacks give none. */
  approvalMessage?: string | undefined;
  /** Whether a long-running tool was started, whose output comes from outside, at an unknown time. */
  isLongRunning?: boolean;
}

/** One run of an agent. The gates of its tools use it. */
export interface Run {
  readonly live: boolean;
  /** The invocation that the run continues, when the caller knows it. */
  readonly continues?: string | undefined;
  /** Whether a call of a browser tool with an optimistic output is answered with that output at once. */
  readonly optimistic?: boolean;
  /** Receives partial texts directly from the model call, so that ADK does not handle each of them. */
  readonly fastPath?: AgentFastPath;
  /** Runs the tools that ADK's loop calls. */
  readonly tools: ServerTools;
  /** Defers a call. Resolves when it is recorded. */
  defer(call: DeferredCall): Promise<void>;
  /** The functions of the conversation. Without them an agent that is used as a tool cannot pause. */
  readonly inner?: InnerHost;
  /** For the run of an agent that is used as a tool: the names of the agents from the outside in. The last one called the tool. */
  readonly path?: readonly string[];
}

/** The names of the tools that need approval, whatever their definitions say; undefined leaves it to the definitions. */
export type ApprovalOverride = readonly string[] | undefined;

/** Returns the decision that a call fails before the user is asked, and without running its tool. */
export function refuse(tool: BaseTool, refusal: string): Decision {
  const runsOn = tool instanceof DuologueTool ? tool.runsOn : 'server';
  return { tool, args: {}, runsOn, asks: false, refusal };
}

/**
 * Decides where a call runs, whether it needs approval, and whether its arguments are valid. Does not reject: when a check of a `DuologueTool` throws, the
 * decision is a `refusal` with the text of that error; when `requireConfirmation` of a native ADK tool throws, the decision is to ask the user.
 */
export async function decide(
  tool: BaseTool,
  args: Record<string, unknown>,
  context: Context,
  override: ApprovalOverride,
): Promise<Decision> {
  const question = questionOf(tool, args);
  if (question) return { tool, args, runsOn: 'client', asks: false, question };
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
    const { asks, denial, reason } = await tool.approvalOf(valid, context);
    if (denial !== undefined) return { tool, args: valid, runsOn, asks: false, refusal: denial };
    return {
      tool,
      args: valid,
      runsOn,
      ...asking(tool, asks, override),
      ...(reason !== undefined && { approvalMessage: reason }),
    };
  } catch (error) {
    const refusal = error instanceof Error ? error.message : String(error);
    return { tool, args, runsOn, asks: false, refusal };
  }
}

function asking(tool: BaseTool, asks: boolean, override: ApprovalOverride): { asks: boolean; waived?: true } {
  if (!override) return { asks };
  return override.includes(tool.name) ? { asks: true } : { asks: false, ...(asks ? { waived: true } : {}) };
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

/**
 * How long an approval request of a tool waits, in milliseconds, from the definition of the tool. Null means no limit; undefined means that the option of
 * the server applies.
 */
export function approvalTimeoutOf(tool: BaseTool | undefined): number | null | undefined {
  return tool instanceof DuologueTool ? tool.approvalTimeoutMs : undefined;
}

/** The text of the approval request of a call, from the definition of its tool; undefined when the tool gives none. */
export function approvalMessageOf(
  tool: BaseTool | undefined,
  args: Record<string, unknown>,
): string | undefined {
  return tool instanceof DuologueTool ? tool.approvalMessage(args) : undefined;
}

/** Whether calls of a tool may wait for a user or a browser. */
export function mayWait(tool: BaseTool): boolean {
  if (tool instanceof DuologueTool) return tool.runsOn === 'client' || tool.mayAsk;
  if (isQuestionTool(tool)) return true;
  // `requireConfirmation` of a native ADK tool may be a function of the call. So the tool may wait unless confirmation is off.
  const { requireConfirmation } = tool as { requireConfirmation?: unknown };
  return requireConfirmation !== undefined && requireConfirmation !== false;
}

/**
 * Waits for work until a signal aborts: then the promise settles with what `aborted` returns or throws, and the work continues unobserved. So a tool
 * or a reader that ignores its signal does not block its caller.
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

/** How the server tools of a session run. */
export interface ServerToolRules {
  /** How long a tool may take, in milliseconds; null means no limit. */
  timeoutMs: number | null;
  /** Names of tools without side effects, which may run in parallel. */
  concurrent: readonly string[];
  /** Calls `callback` after `ms` milliseconds; the returned function cancels that. */
  after: (ms: number, callback: () => void) => () => void;
  /**
   * Creates the outlet through which the tool of a call reports while it runs: preliminary outputs, data parts and metadata. Without it, tools report
   * nothing.
   */
  outlet?: (callId: string, tool: BaseTool) => CallOutlet;
  /** Returns what the context of a tool shows of its call: who approved it, and what the page sent. */
  factsOf?: (callId: string) => Promise<CallFacts>;
  /** Starts a tool once this process is sure to own the session, and rejects when it does not own it. Without this function, tools start at once. */
  start?: <T>(signal: AbortSignal, run: () => Promise<T>) => Promise<T>;
}

/** How long a tool without a time limit may keep the tool lock after it was aborted. */
const LEAVE_MS = 60_000;

/**
 * Runs the server tools of one session one after the other, each within its time limit. A tool reads a state value and writes a new one later, so two
 * tools in parallel could overwrite each other's changes. Tools without side effects (`concurrent`) run at any time.
 */
export class ServerTools {
  private readonly rules: ServerToolRules;
  private last: Promise<void> = Promise.resolve();

  constructor(rules: ServerToolRules) {
    this.rules = rules;
  }

  /**
   * Returns an object with the same rules and a separate tool lock: for the tools of an agent that is used as a tool, whose own call holds the lock of
   * this object meanwhile. These tools report nothing while they run.
   */
  apart(): ServerTools {
    const { outlet: _, ...rules } = this.rules;
    return new ServerTools(rules);
  }

  /** Waits for the tool lock; the returned function releases it. A concurrent tool needs no lock, and waits for none. Null when the signal aborts first. */
  async take(tool: BaseTool | undefined, signal: AbortSignal | undefined): Promise<(() => void) | null> {
    if (signal?.aborted) return null;
    if (tool && this.isConcurrent(tool)) return () => undefined;
    const before = this.last;
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    // A call that leaves the queue early must not let the next call overtake the calls before it.
    this.last = before.then(() => held);
    await firstOf(before, signal);
    if (!signal?.aborted) return release;
    release();
    return null;
  }

  /**
   * Runs a tool that has the tool lock. Rejects when the tool fails, or when its time is over. An abort reaches the tool through the signal that `work` gets;
   * this function still waits for a tool that ignores it, but no longer than the time limit of the tool, or `LEAVE_MS` if it has none. The changes of a tool
   * that ends too late are discarded.
   */
  async run<T>(
    tool: BaseTool,
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { after } = this.rules;
    const timeoutMs = this.limitOf(tool);
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

  /** Starts the code of a tool, if this process may still run it. `signal` is the signal that `run` passed to its `work`. */
  start<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T> {
    return this.rules.start ? this.rules.start(signal, run) : run();
  }

  /** Runs a tool inside ADK's loop: waits for the tool lock, and keeps the tool's changes if it succeeds. */
  async runInLoop(
    tool: BaseTool,
    context: Context,
    work: (context: Context) => Promise<unknown>,
  ): Promise<unknown> {
    const release = await this.take(tool, context.abortSignal);
    if (!release) throw new Error('The call was aborted.');
    let link: CallLink | undefined;
    let saved: EventActions['artifactDelta'] = {};
    try {
      link = await this.link(context.functionCallId, tool);
      if (context.abortSignal?.aborted) throw new Error('The call was aborted.');
      return await this.run(tool, context.abortSignal, async (signal) => {
        const own = apart(context, signal, link);
        saved = own.actions.artifactDelta;
        const output = await this.start(signal, () => work(own));
        if (!signal.aborted) keep(own, context);
        return output;
      });
    } catch (error) {
      // The files that the tool saved before it failed are stored already, so they are shown.
      Object.assign(context.actions.artifactDelta, saved);
      throw error;
    } finally {
      link?.close();
      release();
    }
  }

  /** Connects the tool of a call to its conversation; undefined without a call id or the rule `outlet`. The caller closes the link when the call has ended. */
  async link(callId: string | undefined, tool: BaseTool): Promise<CallLink | undefined> {
    const { outlet, factsOf } = this.rules;
    if (callId === undefined || !outlet) return undefined;
    return new CallLink(() => outlet(callId, tool), await factsOf?.(callId));
  }

  /** How long a call of the tool may run; null means no limit. An `AgentTool` has none. */
  private limitOf(tool: BaseTool): number | null {
    if (isAgentTool(tool)) return null;
    const own = tool instanceof DuologueTool ? tool.timeoutMs : undefined;
    return own === undefined ? this.rules.timeoutMs : own;
  }

  private isConcurrent(tool: BaseTool): boolean {
    // A browser tool does not run on the server, so it needs no lock.
    if (tool instanceof DuologueTool && (tool.isConcurrent || tool.runsOn === 'client')) return true;
    return this.rules.concurrent.includes(tool.name);
  }
}

/** A context for a tool with a separate copy of state and actions, so that a tool that fails or ends too late changes nothing. */
function apart(context: Context, abortSignal: AbortSignal, link: CallLink | undefined): ToolContext {
  const { invocationContext, functionCallId, toolConfirmation } = context;
  const { session } = invocationContext;
  const own = invocationContext.clone({
    session: { ...session, state: { ...session.state } },
    abortSignal,
  });
  // A node that is used as a tool emits its events through this queue, which `clone` leaves out.
  if (invocationContext.eventQueue) own.eventQueue = invocationContext.eventQueue;
  return new ToolContext(
    {
      invocationContext: own,
      eventActions: createEventActions({}),
      ...(functionCallId === undefined ? {} : { functionCallId }),
      ...(toolConfirmation === undefined ? {} : { toolConfirmation }),
    },
    link,
  );
}

/** Validates a preliminary output by the output schema of its tool. Throws an error with a clear text when the output does not fit. */
export function preliminaryOutput(tool: BaseTool, output: unknown): unknown {
  return tool instanceof DuologueTool ? tool.checkOutput(output) : output;
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

/** Resolves when `work` has resolved or the signal aborts. `work` must never reject. */
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
