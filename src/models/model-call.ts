import type { BaseLlm, LlmRequest, LlmResponse } from '@google/adk';
import { FinishReason } from '@google/genai';
import { markUnreadable } from '../adk/unreadable.ts';
import { FinalResponse } from './final-response.ts';
import { callIdsIn, callsIn, releaseUsedIds, withoutCalls } from './function-calls.ts';
import { httpStatusOf, messageOf } from './provider-error.ts';
import { admitUnknownTools } from './unknown-tool.ts';

/**
 * One model call as ADK can take it: partial texts and thoughts, then exactly one final response with every part, the usage
 * and the finish reason. Aborted, it ends at once and without one, even when the model does not listen.
 */
export function callModel(
  model: BaseLlm,
  request: LlmRequest,
  stream = false,
  signal?: AbortSignal,
): AsyncGenerator<LlmResponse, void> {
  return new ModelCall(model, request, stream, signal);
}

type Step = IteratorResult<LlmResponse, void>;
const DONE: Step = { done: true, value: undefined };

/** Written as an iterator, not as a generator: it stands in the way of every token, and a generator costs several times as much. */
class ModelCall implements AsyncGenerator<LlmResponse, void> {
  private readonly source: AsyncGenerator<LlmResponse, void>;
  private readonly request: LlmRequest;
  private readonly stream: boolean;
  private readonly signal: AbortSignal | undefined;
  private readonly final = new FinalResponse();
  private readonly usedIds: Set<string>;
  private isOver = false;
  /** The step that the caller waits for. */
  private settle: ((step: Step | Promise<Step>) => void) | undefined;

  constructor(model: BaseLlm, request: LlmRequest, stream: boolean, signal: AbortSignal | undefined) {
    this.request = request;
    this.stream = stream;
    this.signal = signal;
    // Read before the call: models may change the request.
    this.usedIds = callIdsIn(request.contents);
    this.source = model.generateContentAsync(request, stream, signal);
    signal?.addEventListener('abort', this.abort, { once: true });
  }

  next(): Promise<Step> {
    if (this.signal?.aborted) this.abort();
    if (this.isOver) return Promise.resolve(DONE);
    return new Promise<Step>((resolve) => {
      this.settle = resolve;
      this.pull();
    });
  }

  async return(): Promise<Step> {
    if (!this.isOver) {
      this.end(DONE);
      await this.source.return();
    }
    return DONE;
  }

  async throw(error: unknown): Promise<Step> {
    await this.return();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  private pull(): void {
    this.source.next().then(this.take, this.fail);
  }

  private readonly take = (step: Step): void => {
    if (this.isOver) return;
    if (step.done) {
      this.end({ done: false, value: this.complete() });
      return;
    }
    const response = step.value;
    if (!response.partial) {
      this.final.add(response);
      this.pull();
      return;
    }
    const partial = withoutCalls(response);
    if (partial) this.final.addPartial(partial);
    if (partial && this.stream) this.settle?.(partial === response ? step : { done: false, value: partial });
    else this.pull();
  };

  private readonly fail = (error: unknown): void => {
    if (this.isOver) return;
    const status = httpStatusOf(error);
    if (status === undefined) this.end(Promise.reject(error));
    else this.end({ done: false, value: this.final.failed(String(status), messageOf(error)) });
  };

  private readonly abort = (): void => {
    if (this.isOver) return;
    this.end(DONE);
    // Not awaited: a generator returns only after what it is waiting for.
    this.source.return().catch(() => {});
  };

  private complete(): LlmResponse {
    const response = this.final.response();
    markCutOff(response);
    const calls = callsIn(response.content);
    if (calls.length > 0) {
      releaseUsedIds(calls, this.usedIds);
      admitUnknownTools(this.request.toolsDict, calls);
    }
    return response;
  }

  private end(step: Step | Promise<Step>): void {
    this.isOver = true;
    this.signal?.removeEventListener('abort', this.abort);
    this.settle?.(step);
  }
}

/** A model that ran out of tokens right after the name of a tool gave no arguments, and meant some. */
function markCutOff({ content, finishReason }: LlmResponse): void {
  if (finishReason !== FinishReason.MAX_TOKENS) return;
  const last = content?.parts?.at(-1);
  if (last?.functionCall && Object.keys(last.functionCall.args ?? {}).length === 0) markUnreadable(last);
}
