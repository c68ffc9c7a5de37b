import { BaseLlm, type BaseLlmConnection, type LlmRequest, type LlmResponse } from '@google/adk';

/** Types of ADK's requests. They are derived from `LlmRequest`, so that this file does not import `@google/genai`, which declares them. */
type Contents = LlmRequest['contents'];
type Config = NonNullable<LlmRequest['config']>;
type LiveConfig = LlmRequest['liveConnectConfig'];
type Part = NonNullable<NonNullable<LlmResponse['content']>['parts']>[number];

/** One step of the model: it writes a text, thinks, calls a tool, fails with an error, or returns the given `LlmResponse` unchanged. */
export type ScriptStep =
  | string
  | { thinks: string }
  | { call: string; args?: Record<string, unknown>; id?: string }
  | Error
  | LlmResponse;

/** Returns the steps of a turn. It gets the request, whether to stream, and the signal that aborts the call. */
export type ScriptFunction = (
  request: LlmRequest,
  stream: boolean,
  signal: AbortSignal | undefined,
) => ScriptStep | readonly ScriptStep[] | AsyncIterable<LlmResponse>;

/** One call of the model: a step, several steps, or code that returns them. */
export type ScriptTurn = ScriptStep | readonly ScriptStep[] | ScriptFunction;

/** The request that the model got in one call, copied at the time of the call. */
export interface SeenRequest {
  model: string | undefined;
  contents: Contents;
  config: Config;
  stream: boolean;
}

/** The request with which a live connection was opened. */
export interface SeenConnect {
  model: string | undefined;
  contents: Contents;
  config: Config;
  liveConnectConfig: LiveConfig;
}

/**
 * Makes a model that plays a script: one turn for each call of the model, in order. After a tool call, ADK calls the model again with the output of the
 * tool, so the script needs one more turn. The same script works over SSE, where ADK calls the model turn by turn, and over a WebSocket, where ADK runs it
 * live.
 *
 * @example
 * const model = scriptModel([
 *   { call: 'pay', args: { amount: 5 } },
 *   ['Paid. ', 'Anything else?'],
 *   ({ contents }) => `You wrote ${contents.length} contents.`,
 * ]);
 */
export function scriptModel(turns: readonly ScriptTurn[], options: { model?: string } = {}): ScriptedModel {
  return new ScriptedModel(turns, options);
}

/** A model that plays a list of turns and remembers every request. */
export class ScriptedModel extends BaseLlm {
  /** The requests of the agent, oldest first. */
  readonly requests: SeenRequest[] = [];
  readonly connects: SeenConnect[] = [];
  /** Whether the model has live connections of its own (option `connections`). Otherwise a live run calls the model turn by turn. */
  readonly nativeLive: boolean;
  readonly #turns: ScriptTurn[];
  /** How many turns the script has, with those that were played. */
  #length: number;
  readonly #connections: (BaseLlmConnection | Error)[];

  constructor(
    turns: readonly ScriptTurn[] = [],
    options: { model?: string; connections?: readonly (BaseLlmConnection | Error)[] } = {},
  ) {
    super({ model: options.model ?? 'scripted' });
    this.#turns = [...turns];
    this.#length = turns.length;
    this.#connections = [...(options.connections ?? [])];
    this.nativeLive = options.connections !== undefined;
  }

  /** Adds turns at the end of the script. */
  add(...turns: ScriptTurn[]): this {
    this.#turns.push(...turns);
    this.#length += turns.length;
    return this;
  }

  /** How many turns are left. A test that ends with 0 has played its whole script. */
  get left(): number {
    return this.#turns.length;
  }

  /** The contents of the last request. */
  get lastContents(): Contents {
    return this.requests.at(-1)?.contents ?? [];
  }

  override async *generateContentAsync(
    request: LlmRequest,
    stream = false,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    const { model, contents, config } = request;
    this.requests.push({ model, contents: copy(contents), config: copy(config ?? {}), stream });
    const turn = this.#turns.shift();
    if (turn === undefined) {
      throw new Error(
        `The model was called ${this.requests.length} times, but the script has ${this.#length} turns. Add a turn for each call: ADK also calls it after each tool call.`,
      );
    }
    const steps = typeof turn === 'function' ? turn(request, stream, signal) : turn;
    if (isAsync(steps)) {
      yield* steps;
      return;
    }
    for (const response of responsesOf(isList(steps) ? steps : [steps])) {
      if (signal?.aborted) return;
      if (response instanceof Error) throw response;
      yield structuredClone(response);
    }
  }

  override async connect(request: LlmRequest): Promise<BaseLlmConnection> {
    const { model, contents, config, liveConnectConfig } = request;
    this.connects.push({
      model,
      contents: copy(contents),
      config: copy(config ?? {}),
      liveConnectConfig: copy(liveConnectConfig),
    });
    const next = this.#connections.shift();
    if (next === undefined) {
      const { length } = this.connects;
      throw new Error(
        `A live run opened ${length} connections, but the option "connections" has ${length - 1}.`,
      );
    }
    if (next instanceof Error) throw next;
    return next;
  }
}

/**
 * Converts the steps of one call to responses. Texts and thoughts become partial responses; then one final response has everything, with the tool calls in
 * their places. Steps that are an `LlmResponse` or an error stay as they are.
 */
function responsesOf(steps: readonly ScriptStep[]): (LlmResponse | Error)[] {
  const responses: (LlmResponse | Error)[] = [];
  let parts: Part[] = [];
  const finish = () => {
    if (parts.length > 0) responses.push({ content: { role: 'model', parts }, partial: false });
    parts = [];
  };
  for (const step of steps) {
    if (step instanceof Error) {
      // A model that fails yields no final response, so drop the parts so far.
      parts = [];
      responses.push(step);
      continue;
    }
    const part = partOf(step);
    if (part === null) {
      finish();
      responses.push(step as LlmResponse);
      continue;
    }
    if (part.text !== undefined) responses.push({ content: { role: 'model', parts: [part] }, partial: true });
    const last = parts.at(-1);
    const isMore = part.text !== undefined && last?.text !== undefined && last.thought === part.thought;
    if (isMore) parts[parts.length - 1] = { ...last, text: `${last.text}${part.text}` };
    else parts.push(part);
  }
  finish();
  return responses;
}

/** Converts a step to a part of a response; null for a step that is a whole `LlmResponse`. */
function partOf(step: Exclude<ScriptStep, Error>): Part | null {
  if (typeof step === 'string') return { text: step };
  if ('thinks' in step) return { text: step.thinks, thought: true };
  if (!('call' in step)) return null;
  const { call: name, args = {}, id } = step;
  return { functionCall: { name, args, ...(id === undefined ? {} : { id }) } };
}

function isList(steps: ScriptStep | readonly ScriptStep[]): steps is readonly ScriptStep[] {
  return Array.isArray(steps);
}

function isAsync(steps: ReturnType<ScriptFunction>): steps is AsyncIterable<LlmResponse> {
  return typeof steps === 'object' && Symbol.asyncIterator in steps;
}

function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
