import { BaseTool, Context, createEventActions, FunctionTool, isAgentTool } from '@google/adk';
import { z } from 'zod/v4';
import { toolTimedOut } from '../protocol/index.ts';

/**
 * Caches the declaration of a tool. ADK converts the schema of the arguments anew for every model call, though it never changes. Each caller gets a copy,
 * since callbacks may change a request. A tool that overrides its declaration is left alone.
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

/** The output of a tool as JSON values; throws an error with a clear text when it has no JSON. */
export function toJsonOutput(toolName: string, output: unknown): unknown {
  return toJson(output, `${toolName} ran, but its output cannot be written as JSON.`);
}

/** The response that a callback gave instead of the output of a tool. */
export function toJsonResponse(toolName: string, response: unknown): unknown {
  return toJson(response, `A callback gave a response for ${toolName} that cannot be written as JSON.`);
}

/** Throws an error with a clear text when state that a tool changed cannot be stored. */
export function checkState(toolName: string, stateDelta: object): void {
  if (!hasJson(stateDelta))
    throw new Error(`${toolName} ran, but the state that it changed cannot be written as JSON.`);
}

/**
 * A value as it is stored, sent and shown to the model: a BigInt becomes its decimal digits, and everything else stays as it is. An object that contains
 * itself has no JSON.
 */
function toJson(value: unknown, failure: string): unknown {
  if (hasJson(value)) return value;
  try {
    return JSON.parse(JSON.stringify(value, withDigits)) as unknown;
  } catch {
    throw new Error(failure);
  }
}

/** Whether a value has JSON. A `toJSON` method of an object may throw too. */
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
type NoParameters = z.ZodObject<Record<never, never>>;
type Args<P extends Parameters> = z.output<P>;
type Maybe<T> = T | Promise<T>;

interface Definition<P extends Parameters, O> {
  name: string;
  description: string;
  /** The arguments; without it the tool takes none. */
  parameters?: P;
  /** The schema of the output. It types the output on the page; an output that does not fit it, also one of the browser, fails the call. */
  output?: z.ZodType<O>;
  /** Whether the user is asked before each call. A function that throws means: ask. */
  needsApproval?: boolean | ((args: Args<P>, context: Context) => Maybe<boolean>);
  /**
   * How long an approval request of this tool waits, in milliseconds from when it is shown; null means no limit. It replaces the option `approvalTimeoutMs` of
   * the server, over SSE and over BIDI.
   */
  approvalTimeoutMs?: number | null;
  /** Throws when these arguments are invalid: before the user is asked, and again before the tool runs. */
  check?: (args: Args<P>, context: Context) => Maybe<void>;
}

/** A tool that runs on the server. */
export interface ServerTool<P extends Parameters, O = unknown> extends Definition<P, O> {
  runsOn?: 'server';
  /** The tool has no side effects, so its calls run in parallel with others. Otherwise the calls of a session run one after the other. */
  concurrent?: boolean;
  /** Does the work. It returns the output; an error that it throws is shown to user and model. A generator is refused. */
  execute: (args: Args<P>, context: Context) => Maybe<O>;
}

/** A tool that runs in the browser. */
export interface ClientTool<P extends Parameters, O = unknown> extends Definition<P, O> {
  runsOn: 'client';
  /** Over SSE: the output with which the turn continues at once, while the browser acts on the call. */
  optimistic?: (args: Args<P>) => O;
}

type AnyDefinition = ServerTool<Parameters> | ClientTool<Parameters>;

/** The output of a call as pages see it: a tool that returns nothing has an empty object. */
type Shown<O> = O extends ReturnType<() => void> | null ? Nothing : O;
type Nothing = Record<string, never>;

/**
 * An ADK tool that knows where it runs and whether it asks. Its types are those of the AI SDK's tools, so that `InferUITools` works on a record of them:
 * `Input` is the input as the model wrote it and as pages see it, before the schema changes it; `Output` is the output of a call.
 */
export class DuologueTool<
  Input = unknown,
  Output = unknown,
  RunsOn extends 'server' | 'client' = 'server' | 'client',
> extends BaseTool {
  readonly runsOn: RunsOn;
  /** The schema of the arguments. */
  readonly inputSchema: z.ZodType<Input>;
  /** The schema of the output; without one in the definition, any output fits. */
  readonly outputSchema: z.ZodType<Output>;
  private readonly definition: AnyDefinition;
  private readonly schema: Parameters;
  /** Makes the declaration for models. */
  private readonly declared: FunctionTool<Parameters>;

  constructor(definition: AnyDefinition) {
    checkExecute(definition);
    checkTimeout(definition);
    const { name, description, parameters: schema = z.object({}) } = definition;
    super({ name, description });
    this.definition = definition;
    this.schema = schema;
    this.inputSchema = schema as unknown as z.ZodType<Input>;
    this.outputSchema = (definition.output ?? z.unknown()) as z.ZodType<Output>;
    this.runsOn = (definition.runsOn ?? 'server') as RunsOn;
    this.declared = new FunctionTool({ name, description, parameters: schema, execute: () => undefined });
    rememberDeclaration(this.declared);
  }

  override _getDeclaration() {
    return this.declared._getDeclaration();
  }

  /** The arguments after validation; throws an error with a clear text when they are invalid. */
  async validate(args: Record<string, unknown>, context: Context): Promise<Record<string, unknown>> {
    const parsed = this.schema.safeParse(args);
    if (!parsed.success) throw new Error(describeIssues(parsed.error));
    await this.definition.check?.(parsed.data, context);
    return parsed.data;
  }

  /** Whether calls of the tool run in parallel with others. */
  get isConcurrent(): boolean {
    return this.definition.runsOn !== 'client' && this.definition.concurrent === true;
  }

  /** Whether the definition has a schema that outputs must fit. */
  get checksOutput(): boolean {
    return this.definition.output !== undefined;
  }

  /** Whether some call of the tool may ask. */
  get mayAsk(): boolean {
    return this.definition.needsApproval !== undefined && this.definition.needsApproval !== false;
  }

  /** How long an approval request of the tool waits; null means no limit, and undefined is as long as the server says. */
  get approvalTimeoutMs(): number | null | undefined {
    return this.definition.approvalTimeoutMs;
  }

  /** Whether a call with these validated arguments asks. */
  async asks(args: Record<string, unknown>, context: Context): Promise<boolean> {
    const { needsApproval } = this.definition;
    if (typeof needsApproval !== 'function') return needsApproval ?? false;
    try {
      return await needsApproval(args, context);
    } catch {
      return true;
    }
  }

  /** Whether there is an output to answer with at once over SSE; otherwise the call waits for the browser's own. */
  get isOptimistic(): boolean {
    return this.definition.runsOn === 'client' && this.definition.optimistic !== undefined;
  }

  /** The output to answer with at once, for validated arguments. */
  optimistic(args: Record<string, unknown>): unknown {
    const { definition } = this;
    return definition.runsOn === 'client' ? (definition.optimistic?.(args) ?? {}) : undefined;
  }

  /** Runs the tool without a gate, such as in an agent used as a tool: no user can be asked there. */
  override async runAsync(request: ToolRequest): Promise<unknown> {
    const { args, toolContext } = request;
    if (this.runsOn === 'server' && (await this.asks(await this.validate(args, toolContext), toolContext))) {
      throw new Error(
        `${this.name} needs an approval, and an agent that is used as a tool cannot ask the user.`,
      );
    }
    return this.runDecided(request);
  }

  /** Runs the tool after it was decided that the call does not ask, or a user has approved it. */
  async runDecided({ args, toolContext }: ToolRequest): Promise<unknown> {
    const { definition } = this;
    if (definition.runsOn === 'client') throw new Error(`${this.name} runs in the browser`);
    const valid = await this.validate(args, toolContext);
    const output = await definition.execute(valid, toolContext);
    // A generator that was compiled to an older JavaScript is known by what it returns.
    if (isGenerator(output)) throw new Error(noGenerator(this.name));
    return this.checkOutput(output ?? {});
  }

  /** The output as its schema makes it; throws an error with a clear text when it does not fit. */
  checkOutput(output: unknown): unknown {
    const { output: schema } = this.definition;
    if (!schema) return output;
    const parsed = schema.safeParse(output);
    if (parsed.success) return parsed.data;
    throw new Error(
      `${this.name} ran, but its output does not fit its schema: ${describeIssues(parsed.error, 'output')}`,
    );
  }
}

type ToolRequest = Parameters_<BaseTool['runAsync']>;
type Parameters_<F> = F extends (input: infer I) => unknown ? I : never;

/**
 * Makes an ADK tool from what it does, where it runs and whether it asks. Its input is typed by `parameters`, its output by `output`, or else by what `execute`
 * returns.
 *
 * @example
 * export const tools = {
 *   get_weather: defineTool({
 *     name: 'get_weather',
 *     description: 'The weather of a city.',
 *     parameters: z.object({ city: z.string() }),
 *     execute: async ({ city }) => ({ city, celsius: 21 }),
 *   }),
 * };
 */
export function defineTool<P extends Parameters = NoParameters, O = unknown>(
  definition: ClientTool<P, O>,
): DuologueTool<z.input<P>, O, 'client'>;
export function defineTool<P extends Parameters = NoParameters, O = unknown>(
  definition: ServerTool<P, O>,
): DuologueTool<z.input<P>, Shown<O>, 'server'>;
export function defineTool(definition: unknown): DuologueTool {
  return new DuologueTool(definition as AnyDefinition);
}

/** Throws when a definition cannot run: nothing would ever call a generator's `next`, so its body would never run. */
function checkExecute(definition: AnyDefinition): void {
  if (definition.runsOn === 'client') return;
  const { name, execute } = definition;
  if (typeof execute !== 'function') {
    throw new TypeError(`The tool "${name}" runs on the server and has no function "execute".`);
  }
  if (/Generator/.test(Object.prototype.toString.call(execute))) throw new TypeError(noGenerator(name));
}

/** Throws when the time for an approval is no time: such a request would never expire, or at once. */
function checkTimeout({ name, approvalTimeoutMs: time }: AnyDefinition): void {
  if (time === undefined || time === null || (typeof time === 'number' && time >= 0)) return;
  throw new TypeError(
    `The "approvalTimeoutMs" of the tool "${name}" must be a number of milliseconds that is not negative, or null for no limit.`,
  );
}

function noGenerator(name: string): string {
  return `The "execute" of the tool "${name}" is a generator (function*), which is not supported: return the output, or a promise of it.`;
}

function isGenerator(output: unknown): boolean {
  return /Generator/.test(Object.prototype.toString.call(output));
}

function describeIssues(error: z.ZodError, whole = 'arguments'): string {
  return error.issues.map((issue) => `${issue.path.join('.') || whole}: ${issue.message}`).join('; ');
}

/** How the server tools of a session run. */
export interface ServerToolRules {
  /** How long a tool may take, in milliseconds; null means no limit. */
  timeoutMs: number | null;
  /** Names of tools without side effects, which may run in parallel. */
  concurrent: readonly string[];
  /** Calls back after that many milliseconds; the returned function cancels. */
  after: (ms: number, callback: () => void) => () => void;
  /** Starts a tool when this process may, and rejects when it may not; at once unless given. */
  start?: <T>(signal: AbortSignal, run: () => Promise<T>) => Promise<T>;
}

/** How long an aborted tool without a deadline may keep the tool lock. */
const LEAVE_MS = 60_000;

/**
 * Runs the server tools of one session one after the other, each within its time limit. A tool reads state and writes absolute values later, so two in
 * parallel would each undo what the other wrote.
 */
export class ServerTools {
  private readonly rules: ServerToolRules;
  private last: Promise<void> = Promise.resolve();

  constructor(rules: ServerToolRules) {
    this.rules = rules;
  }

  /** Waits for the tool lock; the returned function releases it. Null when the signal aborts first. */
  async take(tool: BaseTool | undefined, signal: AbortSignal | undefined): Promise<(() => void) | null> {
    if (signal?.aborted) return null;
    if (tool && this.isConcurrent(tool)) return () => undefined;
    const before = this.last;
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    // The next call waits for all before it, even if this one leaves the queue early.
    this.last = before.then(() => held);
    await firstOf(before, signal);
    if (!signal?.aborted) return release;
    release();
    return null;
  }

  /**
   * Runs a tool that has the tool lock, until the tool ends or its time is over. An abort reaches the tool through its signal; a tool that ignores its signal
   * keeps the lock until it ends or its time is over. The changes of a tool that ends too late are discarded.
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

  /** Starts the code of a tool, if this process may still run it. `signal` is the one that `run` passed. */
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
    // A tool of the browser is only announced here.
    if (tool instanceof DuologueTool && (tool.isConcurrent || tool.runsOn === 'client')) return true;
    return this.rules.concurrent.includes(tool.name);
  }
}

/** A context for a tool with state and actions of its own: a tool that fails or ends too late changes nothing. */
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

/** Resolves when the work is done or the signal aborts; never rejects. */
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
