import { AsyncQueue, BaseLlm, type BaseLlmConnection, type LlmRequest, type LlmResponse } from '@google/adk';
import type { Blob, Content, GenerateContentConfig, LiveConnectConfig } from '@google/genai';

/** A turn played by code: it sees the request, whether to stream, and the signal that aborts it. */
export type ScriptedFunction = (
  request: LlmRequest,
  stream: boolean,
  signal: AbortSignal | undefined,
) => AsyncGenerator<LlmResponse, void> | AsyncIterable<LlmResponse>;

/** One model call: what it yields in order (an `Error` is thrown), or code that yields it. */
export type ScriptedTurn = readonly (LlmResponse | Error)[] | ScriptedFunction;

/** What the model was shown in one call, copied at that moment. */
export interface SeenRequest {
  model: string | undefined;
  contents: Content[];
  config: GenerateContentConfig;
  stream: boolean;
}

/** What the model was shown when a live connection was opened. */
export interface SeenConnect {
  model: string | undefined;
  contents: Content[];
  config: GenerateContentConfig;
  liveConnectConfig: LiveConnectConfig;
}

/** A model that plays a list of turns and remembers every request. */
export class ScriptedModel extends BaseLlm {
  readonly requests: SeenRequest[] = [];
  readonly connects: SeenConnect[] = [];
  /** Whether it has a live connection of its own; otherwise live runs are played turn by turn. */
  readonly nativeLive: boolean;
  private readonly turns: ScriptedTurn[];
  private readonly connections: (BaseLlmConnection | Error)[];

  constructor(
    turns: readonly ScriptedTurn[] = [],
    options: { model?: string; connections?: readonly (BaseLlmConnection | Error)[] } = {},
  ) {
    super({ model: options.model ?? 'scripted' });
    this.turns = [...turns];
    this.connections = [...(options.connections ?? [])];
    this.nativeLive = options.connections !== undefined;
  }

  /** Adds turns behind those that are still to be played. */
  add(...turns: ScriptedTurn[]): this {
    this.turns.push(...turns);
    return this;
  }

  /** How many turns are still to be played. */
  get left(): number {
    return this.turns.length;
  }

  /** The contents of the last request. */
  get lastContents(): Content[] {
    return this.requests.at(-1)?.contents ?? [];
  }

  override async *generateContentAsync(
    request: LlmRequest,
    stream = false,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    const { model, contents, config } = request;
    this.requests.push({ model, contents: copy(contents), config: copy(config ?? {}), stream });
    const turn = this.turns.shift();
    if (turn === undefined) throw new Error(`The script has no turn number ${this.requests.length}.`);
    if (typeof turn === 'function') {
      yield* turn(request, stream, signal);
      return;
    }
    for (const response of turn) {
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
    const next = this.connections.shift();
    if (next === undefined) throw new Error(`The script has no connection number ${this.connects.length}.`);
    if (next instanceof Error) throw next;
    return next;
  }
}

/** Something that was sent through a live connection. */
export type Sent =
  | { kind: 'history'; value: Content[] }
  | { kind: 'content'; value: Content }
  | { kind: 'realtime'; value: Blob }
  | { kind: 'activityStart' }
  | { kind: 'activityEnd' };

/** A live connection whose far side is the test. */
export class ScriptedLiveConnection implements BaseLlmConnection {
  readonly sent: Sent[] = [];
  closes = 0;
  /** Called after each `send*`: the place to push what the model answers. */
  onSend: ((sent: Sent, connection: ScriptedLiveConnection) => void) | undefined;
  private readonly incoming = new AsyncQueue<LlmResponse>();

  constructor(onSend?: (sent: Sent, connection: ScriptedLiveConnection) => void) {
    this.onSend = onSend;
  }

  /** The model says something. */
  push(...responses: LlmResponse[]): void {
    for (const response of responses) this.incoming.push(structuredClone(response));
  }

  /** The connection breaks. */
  fail(error: Error): void {
    this.incoming.fail(error);
  }

  /** The model ends the connection in order. */
  end(): void {
    this.incoming.close();
  }

  async sendHistory(history: Content[]): Promise<void> {
    this.record({ kind: 'history', value: copy(history) });
  }

  async sendContent(content: Content): Promise<void> {
    this.record({ kind: 'content', value: copy(content) });
  }

  async sendRealtime(blob: Blob): Promise<void> {
    this.record({ kind: 'realtime', value: copy(blob) });
  }

  async sendActivityStart(): Promise<void> {
    this.record({ kind: 'activityStart' });
  }

  async sendActivityEnd(): Promise<void> {
    this.record({ kind: 'activityEnd' });
  }

  async *receive(): AsyncGenerator<LlmResponse, void, void> {
    yield* this.incoming;
  }

  async close(): Promise<void> {
    this.closes += 1;
    this.incoming.close();
  }

  private record(sent: Sent): void {
    this.sent.push(sent);
    this.onSend?.(sent, this);
  }
}

/** A final response that says one text. */
export function text(...parts: string[]): LlmResponse {
  return { content: { role: 'model', parts: parts.map((part) => ({ text: part })) }, partial: false };
}

/** A part of a text that is still being written. */
export function partial(part: string, thought = false): LlmResponse {
  return {
    content: { role: 'model', parts: [{ text: part, ...(thought ? { thought: true } : {}) }] },
    partial: true,
  };
}

/** A final response that calls one tool; without an id ADK gives it one. */
export function call(name: string, args: Record<string, unknown> = {}, id?: string): LlmResponse {
  return calls({ name, args, ...(id === undefined ? {} : { id }) });
}

/** A final response that calls several tools. */
export function calls(...all: { name: string; args?: Record<string, unknown>; id?: string }[]): LlmResponse {
  return {
    content: { role: 'model', parts: all.map((one) => ({ functionCall: { args: {}, ...one } })) },
    partial: false,
  };
}

/** A text that comes in pieces: one partial response for each, then one final response with all of it. */
export function streamed(...pieces: string[]): LlmResponse[] {
  return [...pieces.map((piece) => partial(piece)), text(pieces.join(''))];
}

/** Says something, then nothing any more; tells when it was told to stop. */
export function hanging(...first: LlmResponse[]): { turn: ScriptedFunction; stopped: () => boolean } {
  let isStopped = false;
  return {
    stopped: () => isStopped,
    turn: async function* (_request, _stream, signal) {
      yield* first;
      await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
      isStopped = true;
    },
  };
}

function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
