import { type BaseTool, Context, createEventActions, FunctionTool, isAgentTool } from '@google/adk';
import { z } from 'zod/v4';
import { toolTimedOut } from '../protocol/index.ts';

/**
 * Makes a tool remember its declaration. ADK converts the schema of the arguments anew for every model call, though it
 * never changes; what is handed out is fresh each time, since callbacks may change a request. A tool with a declaration of its own
 * making is left alone.
 */
export function rememberDeclaration(tool: unknown): void {
  const isStock =
    tool instanceof FunctionTool && tool._getDeclaration === FunctionTool.prototype._getDeclaration;
  if (!isStock) return;
  const make = tool._getDeclaration.bind(tool);
  let text: string | undefined;
  tool._getDeclaration = () => {
    text ??= JSON.stringify(make());
    return JSON.parse(text);
  };
}

/** The output of a tool as JSON can hold it; throws in words when there is no JSON for it. */
export function toJsonOutput(toolName: string, output: unknown): unknown {
  return toJson(output, `${toolName} ran, but its output cannot be written as JSON.`);
}

/** The response that a callback gave instead of the output of a tool. */
export function toJsonResponse(toolName: string, response: unknown): unknown {
  return toJson(response, `A callback gave a response for ${toolName} that cannot be written as JSON.`);
}

/** Throws in words when state that a tool changed cannot be stored. */
export function checkState(toolName: string, stateDelta: object): void {
  if (!hasJson(stateDelta))
    throw new Error(`${toolName} ran, but the state that it changed cannot be written as JSON.`);
}

/**
 * A value as it is stored, sent and shown to the model: a BigInt becomes its decimal digits, and everything else stays as it is. An
 * object that contains itself has no JSON.
 */
function toJson(value: unknown, failure: string): unknown {
  if (hasJson(value)) return value;
  try {
    return JSON.parse(JSON.stringify(value, withDigits)) as unknown;
  } catch {
    throw new Error(failure);
  }
}

/** Whether a value can be written as JSON. A `toJSON` method of an object may throw as well. */
function hasJson(value: unknown): boolean {
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
}

function withDigits(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}

type Parameters = z.ZodObject;
type Args<P extends Parameters> = z.infer<P>;
type Maybe<T> = T | Promise<T>;

interface Definition<P extends Parameters> {
  name: string;
  description: string;
  /** The arguments; without it the tool takes none. */
  parameters?: P;
  /** Whether a person is asked before each call. A function that throws means: ask. */
  needsApproval?: boolean | ((args: Args<P>, context: Context) => Maybe<boolean>);
  /** Throws when these arguments cannot work: before anyone is asked, and again before the tool runs. */
  check?: (args: Args<P>, context: Context) => Maybe<void>;
}

/** A tool that runs on the server. */
export interface ServerTool<P extends Parameters> extends Definition<P> {
  runsOn?: 'server';
  /** The tool changes nothing, so that its calls run beside others. Otherwise the calls of a session run one after the other. */
  concurrent?: boolean;
  /** Does the work. What it returns is the output; what it throws is the error that person and model see. A generator is refused. */
  execute: (args: Args<P>, context: Context) => unknown;
}

/** A tool that runs in the browser. */
export interface ClientTool<P extends Parameters> extends Definition<P> {
  runsOn: 'client';
  /** Over SSE: the output to go on with at once, while the browser acts on the call. */
  optimistic?: (args: Args<P>) => unknown;
}

/** An ADK tool that knows where it runs and whether it asks. */
export class DuologueTool extends FunctionTool<Parameters> {
  readonly runsOn: 'server' | 'client';
  private readonly definition: ServerTool<Parameters> | ClientTool<Parameters>;
  private readonly schema: Parameters;

  constructor(definition: ServerTool<Parameters> | ClientTool<Parameters>) {
    checkExecute(definition);
    const schema = definition.parameters ?? z.object({});
    super({
      name: definition.name,
      description: definition.description,
      parameters: schema,
      execute: () => undefined,
    });
    this.definition = definition;
    this.schema = schema;
    this.runsOn = definition.runsOn ?? 'server';
  }

  /** The arguments as the schema reads them; throws in plain words when they cannot work. */
  async validate(args: Record<string, unknown>, context: Context): Promise<Record<string, unknown>> {
    const parsed = this.schema.safeParse(args);
    if (!parsed.success) throw new Error(describeIssues(parsed.error));
    await this.definition.check?.(parsed.data, context);
    return parsed.data;
  }

  /** Whether calls of the tool run beside others. */
  get isConcurrent(): boolean {
    return this.definition.runsOn !== 'client' && this.definition.concurrent === true;
  }

  /** Whether some call of the tool may ask. */
  get mayAsk(): boolean {
    return this.definition.needsApproval !== undefined && this.definition.needsApproval !== false;
  }

  /** Whether a call with these arguments, as the schema reads them, asks. */
  async asks(args: Record<string, unknown>, context: Context): Promise<boolean> {
    const { needsApproval } = this.definition;
    if (typeof needsApproval !== 'function') return needsApproval ?? false;
    try {
      return await needsApproval(args, context);
    } catch {
      return true;
    }
  }

  /** Whether there is an output to answer with at once over SSE; otherwise the browser's own is awaited. */
  get isOptimistic(): boolean {
    return this.definition.runsOn === 'client' && this.definition.optimistic !== undefined;
  }

  /** The output to answer with at once, for arguments as the schema reads them. */
  optimistic(args: Record<string, unknown>): unknown {
    const { definition } = this;
    return definition.runsOn === 'client' ? (definition.optimistic?.(args) ?? {}) : undefined;
  }

  /** Runs the tool where no gate stands before it, such as in an agent used as a tool: nobody can be asked there. */
  override async runAsync(request: ToolRequest): Promise<unknown> {
    const { args, toolContext } = request;
    if (this.runsOn === 'server' && (await this.asks(await this.validate(args, toolContext), toolContext))) {
      throw new Error(`${this.name} needs an approval, and nobody can be asked here.`);
    }
    return this.runDecided(request);
  }

  /** Runs the tool once it has been found out that it does not ask, or a person has approved. */
  async runDecided({ args, toolContext }: ToolRequest): Promise<unknown> {
    const { definition } = this;
    if (definition.runsOn === 'client') throw new Error(`${this.name} runs in the browser`);
    const valid = await this.validate(args, toolContext);
    const output = await definition.execute(valid, toolContext);
    // A generator that was compiled to an older JavaScript is known by what it returns.
    if (isGenerator(output)) throw new Error(noGenerator(this.name));
    return output ?? {};
  }
}

type ToolRequest = Parameters_<BaseTool['runAsync']>;
type Parameters_<F> = F extends (input: infer I) => unknown ? I : never;

/** Makes an ADK tool from what it does, where it runs and whether it asks. */
export function defineTool<P extends Parameters = z.ZodObject<Record<never, never>>>(
  definition: ServerTool<P> | ClientTool<P>,
): DuologueTool {
  return new DuologueTool(definition as unknown as ServerTool<Parameters> | ClientTool<Parameters>);
}

/** Throws when a definition cannot run: nothing would ever call a generator's `next`, so its body would never run. */
function checkExecute(definition: ServerTool<Parameters> | ClientTool<Parameters>): void {
  if (definition.runsOn === 'client') return;
  const { name, execute } = definition;
  if (typeof execute !== 'function') {
    throw new TypeError(`The tool "${name}" runs on the server and has no function "execute".`);
  }
  if (/Generator/.test(Object.prototype.toString.call(execute))) throw new TypeError(noGenerator(name));
}

function noGenerator(name: string): string {
  return `The "execute" of the tool "${name}" is a generator (function*), which is not supported: return the output, or a promise of it.`;
}

function isGenerator(output: unknown): boolean {
  return /Generator/.test(Object.prototype.toString.call(output));
}

function describeIssues(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join('.') || 'arguments'}: ${issue.message}`).join('; ');
}

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
