import { AsyncQueue, type BaseLlmConnection, type LlmResponse } from '@google/adk';
import type { Blob, Content } from '@google/genai';
import type { ScriptFunction } from '../../src/testing/script-model.ts';

export { ScriptedModel } from '../../src/testing/script-model.ts';

/** A turn played by code that yields responses. */
export type ScriptedFunction = (...given: Parameters<ScriptFunction>) => AsyncIterable<LlmResponse>;

/** One model call: what it yields in order (an `Error` is thrown), or code that yields it. */
export type ScriptedTurn = readonly (LlmResponse | Error)[] | ScriptedFunction;

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

  /** Delivers a model response. */
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

/** A turn that yields these responses and then hangs. `stopped` returns whether it was aborted. */
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
