import { BaseTool, type Context, FunctionTool } from '@google/adk';
import { z } from 'zod/v4';
import { cut, LIMITS } from '../protocol/limits.ts';
import type { DataSchemas } from '../protocol/own-data.ts';
import { type ApprovalRule, type ApprovalRuling, checkApproval, rulingOf } from './approval-status.ts';
import { type CallDecider, type ToolContext, toToolContext } from './tool-context.ts';

/**
 * Caches the declaration of a tool, because ADK converts the schema of its arguments for every model call. Each caller gets a copy, since callbacks may
 * change a request. Changes nothing for a tool that is no `FunctionTool`, or that overrides `_getDeclaration`.
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

/** Converts the output of a tool by `toJson`. Throws an error with a clear text when the output cannot be written as JSON. */
export function toJsonOutput(toolName: string, output: unknown): unknown {
  return toJson(output, `${toolName} ran, but its output cannot be written as JSON.`);
}

/** Like `toJsonOutput`, for the response that a callback gave instead of the output of a tool. */
export function toJsonResponse(toolName: string, response: unknown): unknown {
  return toJson(response, `A callback gave a response for ${toolName} that cannot be written as JSON.`);
}

/** Throws an error with a clear text when state that a tool changed cannot be stored. */
export function checkState(toolName: string, stateDelta: object): void {
  if (!hasJson(stateDelta))
    throw new Error(`${toolName} ran, but the state that it changed cannot be written as JSON.`);
}

/**
 * Converts a value to the form in which it is stored, sent and shown to the model. A value that can be written as JSON stays as it is. In any other value,
 * each BigInt becomes its decimal digits. Throws an error with the text `failure` if it can still not be written, such as an object that contains itself.
 */
function toJson(value: unknown, failure: string): unknown {
  if (hasJson(value)) return value;
  try {
    return JSON.parse(JSON.stringify(value, withDigits)) as unknown;
  } catch {
    throw new Error(failure);
  }
}

/** Whether a value can be written as JSON. Writing also fails when a `toJSON` method throws. */
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
/** What a function without `return` returns. */
type Void = ReturnType<() => void>;

interface Definition<P extends Parameters, O> {
  name: string;
  description: string;
  /** The schema of the arguments; without it the tool takes none. */
  parameters?: P;
  /**
   * The schema of the output. It gives the output on the page its type. A call whose output does not fit it fails, also when the output comes from
   * the browser.
   */
  output?: z.ZodType<O>;
  /**
   * Whether the user is asked before each call: `true`, `false`, a status of AI SDK 7's `toolApproval`, or a function that returns one of these for a call.
   * If the function throws, the user is asked.
   */
  needsApproval?: ApprovalRule | ((args: Args<P>, context: Context) => Maybe<ApprovalRule>);
  /**
   * How long an approval request of this tool waits, in milliseconds after it is shown; null means no limit. It replaces the option `approvalTimeoutMs` of
   * the server, over SSE and over BIDI.
   */
  approvalTimeoutMs?: number | null;
  /**
   * Returns the text of the approval request for the user. Pages find it in `approval.descriptor.message` of the tool part, and in `message` of the
   * approvals that the hooks return. It is cut at 2,000 characters. When the function throws or returns no text, the request has none.
   */
  approvalMessage?: (args: Args<P>) => string;
  /**
   * Called once when a call of the tool was approved, after the approval is stored, in the process that stored it. After a restart it is not called again.
   * The server does not wait for it, so the tool may already run. An error that it throws is logged, and the approval stays valid.
   */
  onApproved?: (args: Args<P>, decided: DecidedCall) => unknown;
  /** Like `onApproved`, when a call of the tool was denied. Not called when the approval request expires. */
  onDenied?: (args: Args<P>, decided: DecidedCall) => unknown;
  /** Throws when these arguments are invalid. The server calls it before the user is asked, and again before it runs a server tool. */
  check?: (args: Args<P>, context: Context) => Maybe<void>;
}

/** A decision about a call of a tool. */
export interface DecidedCall {
  callId: string;
  sessionId: string;
  /** The user of the session, who was asked. */
  user: string;
  decidedBy: CallDecider;
  /** The reason that came with the decision; null when there is none. */
  reason: string | null;
}

/** A tool that runs on the server. */
export interface ServerTool<P extends Parameters, O = unknown, D extends DataSchemas = DataSchemas>
  extends Definition<P, O> {
  runsOn?: 'server';
  /**
   * The schemas of the data parts that the tool sends, as in the option `data` of the server. They give `context.data` its types. Without them,
   * `context.data` accepts any name and value at compile time.
   */
  data?: D;
  /** The tool has no side effects, so its calls run in parallel with others. Otherwise the calls of a session run one after the other. */
  concurrent?: boolean;
  /** How long a call may run, in milliseconds; null means no limit. It replaces the option `toolTimeoutMs` of the server. */
  timeoutMs?: number | null;
  /**
   * Does the work, and returns the output. The user and the model get the text of an error that it throws. If it is an async generator, the page shows each
   * value that it yields as a preliminary output; the output is the value that it returns, or else the last value that it yielded.
   */
  execute: (args: Args<P>, context: ToolContext<D>) => Maybe<O> | AsyncGenerator<O, O | Void, unknown>;
}

/** A tool that runs in the browser. */
export interface ClientTool<P extends Parameters, O = unknown> extends Definition<P, O> {
  runsOn: 'client';
  /** Over SSE, returns the output with which the turn continues at once, while the browser acts on the call. */
  optimistic?: (args: Args<P>) => O;
}

type AnyDefinition = ServerTool<Parameters> | ClientTool<Parameters>;

/** The output of a call as pages see it: a tool that returns nothing has an empty object. */
type Shown<O> = O extends Void | null ? Nothing : O;
type Nothing = Record<string, never>;

/**
 * An ADK tool that knows where it runs and whether it needs approval. Its types are those of the AI SDK's tools, so that `InferUITools` works on a
 * record of them: `Input` is the input as the model wrote it and as pages see it, before the schema changes it; `Output` is the output of a call.
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
    checkApproval(definition.name, definition.needsApproval);
    const { timeoutMs } = definition as { timeoutMs?: unknown };
    checkTime(definition.name, 'approvalTimeoutMs', definition.approvalTimeoutMs);
    checkTime(definition.name, 'timeoutMs', timeoutMs);
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

  /** Validates the arguments, and returns them as the schema changed them. Throws an error with a clear text when they are invalid. */
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

  /** The names of the data parts that the definition says the tool sends. */
  get dataNames(): string[] {
    return this.definition.runsOn === 'client' ? [] : Object.keys(this.definition.data ?? {});
  }

  /** Whether calls of the tool may need approval. */
  get mayAsk(): boolean {
    const { needsApproval } = this.definition;
    return typeof needsApproval === 'function' || rulingOf(this.name, needsApproval).asks;
  }

  /** How long an approval request of the tool waits; null means no limit, undefined that the option of the server applies. */
  get approvalTimeoutMs(): number | null | undefined {
    return this.definition.approvalTimeoutMs;
  }

  /** The text of the approval request of a call; undefined when the tool gives none. */
  approvalMessage(args: Record<string, unknown>): string | undefined {
    const parsed = this.schema.safeParse(args);
    if (!parsed.success) return undefined;
    try {
      const message: unknown = this.definition.approvalMessage?.(parsed.data);
      // A promise is not a text, so it is ignored. If it rejects, the rejection must not end the process.
      if (message instanceof Promise) message.catch(() => undefined);
      return typeof message === 'string' && message !== '' ? cut(message, LIMITS.reasonLength) : undefined;
    } catch {
      return undefined;
    }
  }

  /** Whether the definition has a function for this decision: `onApproved` for an approval, `onDenied` for a denial. */
  hears(approved: boolean): boolean {
    const { onApproved, onDenied } = this.definition;
    return (approved ? onApproved : onDenied) !== undefined;
  }

  /** Calls `onApproved` or `onDenied` of the definition, if it has that function. Rejects when the function fails. */
  async decided(args: Record<string, unknown>, approved: boolean, call: DecidedCall): Promise<void> {
    const { onApproved, onDenied } = this.definition;
    await (approved ? onApproved : onDenied)?.(this.schema.parse(args), call);
  }

  /** How long a call may run on the server; null means no limit, undefined that the option of the server applies. */
  get timeoutMs(): number | null | undefined {
    return this.definition.runsOn === 'client' ? undefined : this.definition.timeoutMs;
  }

  /** Decides by `needsApproval` whether a call with these validated arguments asks the user, or is denied. */
  async approvalOf(args: Record<string, unknown>, context: Context): Promise<ApprovalRuling> {
    const { needsApproval } = this.definition;
    if (typeof needsApproval !== 'function') return rulingOf(this.name, needsApproval);
    try {
      return rulingOf(this.name, await needsApproval(args, context));
    } catch {
      return { asks: true };
    }
  }

  /**
   * Whether the definition has an optimistic output, with which the call is answered at once over SSE; otherwise the call waits for the output of the
   * browser.
   */
  get isOptimistic(): boolean {
    return this.definition.runsOn === 'client' && this.definition.optimistic !== undefined;
  }

  /**
   * The optimistic output of a client tool, with which its call is answered before the browser runs it; undefined for a server tool. `args` have been
   * validated.
   */
  optimistic(args: Record<string, unknown>): unknown {
    const { definition } = this;
    return definition.runsOn === 'client' ? (definition.optimistic?.(args) ?? {}) : undefined;
  }

  /**
   * Runs the tool where no gate is before it, for example in an agent that runs outside the conversation. Throws when the tool runs in the browser, when
   * `needsApproval` denies the call, and when the call needs approval, because no user can be asked there.
   */
  override async runAsync(request: ToolRequest): Promise<unknown> {
    const { args, toolContext } = request;
    if (this.runsOn === 'server') {
      const { asks, denial } = await this.approvalOf(await this.validate(args, toolContext), toolContext);
      if (denial !== undefined) throw new Error(denial);
      if (asks) {
        throw new Error(
          `${this.name} needs an approval, but was called where no user can be asked, for example by an agent that runs outside the conversation.`,
        );
      }
    }
    return this.runDecided(request);
  }

  /**
   * Runs the tool without asking for approval: the caller has found that the call needs none, or that a user has approved it. Throws for a tool that runs in
   * the browser, for invalid arguments, and for an output that does not fit its schema.
   */
  async runDecided({ args, toolContext }: ToolRequest): Promise<unknown> {
    const { definition } = this;
    if (definition.runsOn === 'client')
      throw new Error(`${this.name} runs in the browser, so the server cannot run it.`);
    const context = toToolContext(toolContext);
    const valid = await this.validate(args, context);
    const returned: unknown = await definition.execute(valid, context);
    if (isGenerator(returned)) throw new Error(noGenerator(this.name));
    const output = isAsyncIterable(returned) ? await lastOf(returned, context) : returned;
    return this.checkOutput(output ?? {});
  }

  /** Validates an output, and returns it as the schema changed it. Throws an error with a clear text when it does not fit. */
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
 * Creates an ADK tool from its function, the place where it runs, and whether it needs approval. Its input is typed by `parameters`, its output by
 * `output`, or else by what `execute` returns.
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
export function defineTool<
  P extends Parameters = NoParameters,
  O = unknown,
  D extends DataSchemas = DataSchemas,
>(definition: ServerTool<P, O, D>): DuologueTool<z.input<P>, Shown<O>, 'server'>;
export function defineTool(definition: unknown): DuologueTool {
  return new DuologueTool(definition as AnyDefinition);
}

/**
 * Throws when the definition of a server tool has no function `execute`, or when that function is a generator that is not async: such a generator cannot
 * wait for anything, so it would have no progress to show.
 */
function checkExecute(definition: AnyDefinition): void {
  if (definition.runsOn === 'client') return;
  const { name, execute } = definition;
  if (typeof execute !== 'function') {
    throw new TypeError(
      `The tool "${name}" runs on the server and has no function "execute". Add it, or set runsOn: "client".`,
    );
  }
  if (Object.prototype.toString.call(execute) === '[object GeneratorFunction]')
    throw new TypeError(noGenerator(name));
}

/** Throws when a time limit is no valid number: the limited work would never end, or end at once. */
function checkTime(tool: string, name: string, time: unknown): void {
  if (time === undefined || time === null || (typeof time === 'number' && time >= 0)) return;
  throw new TypeError(
    `The "${name}" of the tool "${tool}" must be a number of milliseconds that is not negative, or null for no limit.`,
  );
}

function noGenerator(name: string): string {
  return `The "execute" of the tool "${name}" is a generator (function*) that is not async: write "async function*", or return the output.`;
}

function isGenerator(output: unknown): boolean {
  return Object.prototype.toString.call(output) === '[object Generator]';
}

/** Whether an output is an async iterable, such as an async generator, also one that was compiled to an older JavaScript. */
function isAsyncIterable(output: unknown): output is AsyncIterable<unknown> {
  return typeof output === 'object' && output !== null && Symbol.asyncIterator in output;
}

/**
 * Shows each value of a generator as a preliminary output. Returns the generator's return value, or else the last value that it yielded. When the call is
 * aborted, the generator is stopped after its next value, and this function throws.
 */
async function lastOf(values: AsyncIterable<unknown>, context: ToolContext): Promise<unknown> {
  const iterator = values[Symbol.asyncIterator]();
  let last: unknown;
  for (;;) {
    const { done, value } = await iterator.next();
    if (done) return value === undefined ? last : value;
    last = value;
    context.progress(value);
    if (!context.abortSignal?.aborted) continue;
    await iterator.return?.();
    throw new Error('The call was aborted.');
  }
}

function describeIssues(error: z.ZodError, whole = 'arguments'): string {
  return error.issues.map((issue) => `${issue.path.join('.') || whole}: ${issue.message}`).join('; ');
}
