import { type BaseLlm, Gemini, type LlmRequest, type LlmResponse } from '@google/adk';
import { FinishReason, type Part } from '@google/genai';
import { isUnreadable, markUnreadable } from '../adk/history.ts';
import { type ClaimCallId, type FastPath, takeClaim, takeFastPath } from '../adk/request-hooks.ts';
import { ARGUMENTS_UNREADABLE } from '../protocol/index.ts';
import {
  admitUnknownTools,
  callIdsIn,
  callsIn,
  releaseTakenIds,
  releaseUsedIds,
  withoutCalls,
} from './function-calls.ts';
import { callGemini, keepsStockCalls } from './gemini/call.ts';
import { failureOf, ModelFailure } from './provider-error.ts';
import { elapsed, type RetryPolicy, retryPolicyOf, waitBefore, waitingResponse } from './retry-policy.ts';

export interface CallModelOptions {
  /** Whether to yield partial responses too; false by default. */
  stream?: boolean | undefined;
  signal?: AbortSignal | undefined;
  retryPolicy?: Partial<RetryPolicy> | undefined;
  /** Receives partial texts and thoughts; the caller of `callModel` then gets only the other responses. */
  fastPath?: FastPath | undefined;
  /** Reserves the ids of calls. A function that the request carries for that (`addClaim`) is used instead. */
  claim?: ClaimCallId | undefined;
}

/**
 * Calls a model. Yields exactly one final response with every part, the usage and the finish reason; with `stream`, partial texts and thoughts before it. A
 * call that fails before its first token is repeated as the retry policy says, and with `stream` a partial response announces each repetition; a later
 * failure becomes the final response. An error that is not a failure of the provider is thrown. An aborted call ends at once and without a final response,
 * even when the model ignores the signal.
 */
export function callModel(
  model: BaseLlm,
  request: LlmRequest,
  options: CallModelOptions = {},
): AsyncGenerator<LlmResponse, void> {
  return new ModelCall(model, request, options);
}

type Step = IteratorResult<LlmResponse, void>;
type Source = AsyncGenerator<LlmResponse, void>;
/** The tool that ADK adds to an agent with an output schema and other tools. The model calls it to give the structured answer. */
const STRUCTURED = 'set_model_response';
const DONE: Step = { done: true, value: undefined };

/** This class implements the iterator itself, because every token passes through it and a generator function costs several times as much. */
class ModelCall implements AsyncGenerator<LlmResponse, void> {
  private readonly model: BaseLlm;
  private readonly request: LlmRequest;
  private readonly stream: boolean;
  private readonly signal: AbortSignal | undefined;
  private readonly retryPolicy: RetryPolicy;
  private readonly final = new FinalResponse();
  private readonly usedIds: Set<string>;
  private readonly claim: ClaimCallId | undefined;
  private readonly fastPath: FastPath | undefined;
  private isOver = false;
  /** Resolves the promise that the last `next()` returned. */
  private settle: ((step: Step | Promise<Step>) => void) | undefined;

  private tries = 0;
  private source: Source | undefined;
  private onStep: (step: Step) => void = () => undefined;
  private onError: (error: unknown) => void = () => undefined;
  private controller = new AbortController();
  /** Whether the provider has sent a response. From then on the call is not repeated. */
  private hasBegun = false;
  /** When to repeat the call, as a time of `elapsed`. With a time of `now`, the wait would become longer when the clock of the machine is set back. */
  private retryAt: number | undefined;
  /** Since when the call waits for the provider, as a time of `elapsed`; null while the caller handles a response. */
  private silentSince: number | null = null;
  private cancelTimer: () => void = () => undefined;

  constructor(
    model: BaseLlm,
    request: LlmRequest,
    { stream, signal, retryPolicy, fastPath, claim }: CallModelOptions,
  ) {
    this.model = model;
    this.request = request;
    this.stream = stream ?? false;
    const put = takeFastPath(request);
    this.fastPath = this.stream ? (fastPath ?? put) : undefined;
    this.claim = takeClaim(request) ?? claim;
    this.signal = signal;
    this.retryPolicy = retryPolicyOf(retryPolicy);
    // The ids are read before the call, because models may change the request.
    this.usedIds = callIdsIn(request.contents);
    signal?.addEventListener('abort', this.abort, { once: true });
  }

  next(): Promise<Step> {
    if (this.signal?.aborted) this.abort();
    if (this.isOver) return Promise.resolve(DONE);
    return new Promise<Step>((resolve) => {
      this.settle = resolve;
      if (this.source) this.pull();
      else this.begin();
    });
  }

  async return(): Promise<Step> {
    if (!this.isOver) {
      const { source } = this;
      this.end(DONE);
      await source?.return();
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

  /** Calls the provider at the time `retryAt`, or at once if that is not set. */
  private begin(): void {
    const { timer } = this.retryPolicy;
    const { retryAt } = this;
    if (retryAt !== undefined) {
      this.retryAt = undefined;
      this.cancelTimer = timer.after(retryAt - elapsed(timer), () => this.begin());
      return;
    }
    this.tries += 1;
    this.controller = new AbortController();
    const { model, request, stream, controller } = this;
    const source =
      model instanceof Gemini && keepsStockCalls(model)
        ? callGemini(model, request, stream, controller.signal)
        : model.generateContentAsync(request, stream, controller.signal);
    this.source = source;
    // Ignore the responses of an attempt that `leave` abandoned.
    this.onStep = (step) => {
      if (this.source === source) this.take(step);
    };
    this.onError = (error) => {
      if (this.source === source) this.fail(error);
    };
    this.pull();
    this.watch();
  }

  private pull(): void {
    this.silentSince = elapsed(this.retryPolicy.timer);
    this.source?.next().then(this.onStep, this.onError);
  }

  private take(step: Step): void {
    if (this.isOver) return;
    this.silentSince = null;
    if (step.done) {
      const response = this.complete();
      const final: Step = { done: false, value: response };
      const taken = this.claim && releaseTakenIds(callsIn(response.content), this.claim);
      if (!taken) return this.end(final);
      // The ids may be looked up in the store. Until that ends, the call can still be aborted, but the model is no longer silent.
      this.cancelTimer();
      taken.then(
        () => this.isOver || this.end(final),
        (error: unknown) => this.fail(error),
      );
      return;
    }
    this.hasBegun = true;
    const response = step.value;
    if (!response.partial) {
      this.final.add(response);
      this.pull();
      return;
    }
    const partial = withoutCalls(response);
    if (partial) this.final.addPartial(partial);
    if (partial && this.fastPath) this.speak(partial, this.fastPath);
    else if (partial && this.stream)
      this.settle?.(partial === response ? step : { done: false, value: partial });
    else this.pull();
  }

  /** Passes a partial text to the fast path instead of the caller, and reads the next response. */
  private speak(partial: LlmResponse, fastPath: FastPath): void {
    try {
      const room = fastPath(partial);
      if (room) room.then(() => this.pull()).catch((error: unknown) => this.fail(error));
      else this.pull();
    } catch (error) {
      this.fail(error);
    }
  }

  private fail(error: unknown): void {
    if (this.isOver) return;
    const failure = failureOf(error);
    if (!(failure instanceof ModelFailure)) {
      this.end(Promise.reject(error));
      return;
    }
    const { reason } = failure;
    const wait = this.hasBegun ? undefined : waitBefore(this.tries, failure, this.retryPolicy);
    if (wait === undefined || reason === undefined) {
      // A connection that is lost after the first token has cut off the answer.
      const code = this.hasBegun && failure.code === 'UNREACHABLE' ? 'INCOMPLETE' : failure.code;
      this.end({ done: false, value: this.final.failed(code, failure.message) });
      return;
    }
    this.leave();
    const { timer } = this.retryPolicy;
    this.retryAt = elapsed(timer) + wait;
    if (this.stream) this.settle?.({ done: false, value: waitingResponse(reason, timer.now() + wait) });
    else this.begin();
  }

  /** Checks the timeouts. One timer serves the whole call: a timer for every token would cost more than the token. */
  private watch(): void {
    const { timer, firstTokenMs, nextTokenMs } = this.retryPolicy;
    const limit = (this.hasBegun ? nextTokenMs : firstTokenMs) ?? Number.POSITIVE_INFINITY;
    const silence = this.silentSince === null ? 0 : elapsed(timer) - this.silentSince;
    if (silence >= limit) {
      this.leave();
      this.fail(new ModelFailure('SILENT', `The model sent nothing for ${limit} ms.`));
      return;
    }
    const ring = Math.min(limit - silence, nextTokenMs ?? Number.POSITIVE_INFINITY);
    if (ring < Number.POSITIVE_INFINITY) this.cancelTimer = timer.after(ring, () => this.watch());
  }

  /** Abandons the attempt in progress. It does not await the generator's `return`, which resolves only after the pending step. */
  private leave(): void {
    const { source } = this;
    this.source = undefined;
    this.cancelTimer();
    this.controller.abort();
    source?.return().catch(() => {});
  }

  private readonly abort = (): void => {
    if (this.isOver) return;
    this.leave();
    this.end(DONE);
  };

  private complete(): LlmResponse {
    const response = this.final.response();
    markCutOff(response);
    // ADK would use the arguments of this call as the structured answer, even though they are unreadable. Fail instead.
    if (
      response.content?.parts?.some((part) => isUnreadable(part) && part.functionCall?.name === STRUCTURED)
    ) {
      return this.final.failed('MALFORMED_FUNCTION_CALL', ARGUMENTS_UNREADABLE);
    }
    const calls = callsIn(response.content);
    if (calls.length > 0) {
      releaseUsedIds(calls, this.usedIds);
      admitUnknownTools(this.request.toolsDict, calls);
    }
    return response;
  }

  private end(step: Step | Promise<Step>): void {
    this.isOver = true;
    this.cancelTimer();
    this.signal?.removeEventListener('abort', this.abort);
    this.settle?.(step);
  }
}

/** Marks a call without arguments as unreadable when the model ran out of tokens after the name of the tool. */
function markCutOff({ content, finishReason }: LlmResponse): void {
  if (finishReason !== FinishReason.MAX_TOKENS) return;
  const last = content?.parts?.at(-1);
  if (last?.functionCall && Object.keys(last.functionCall.args ?? {}).length === 0) markUnreadable(last);
}

/** Collects the responses of one call into its only final response. */
class FinalResponse {
  private readonly parts: Part[] = [];
  private readonly tail: LlmResponse = {};
  private thought = '';
  private text = '';
  /** The usage of the newest partial response. Some models report no usage in the final response, and a failed call has no final response of the model. */
  private usage: Pick<LlmResponse, 'usageMetadata'> = {};

  addPartial(response: LlmResponse): void {
    const { usageMetadata } = response;
    if (usageMetadata) this.usage = { usageMetadata };
    for (const part of response.content?.parts ?? []) {
      if (part.thought) this.thought += part.text ?? '';
      else this.text += part.text ?? '';
    }
  }

  add(response: LlmResponse): void {
    const { content, partial: _, ...rest } = response;
    for (const part of content?.parts ?? []) {
      if (!isEmpty(part)) this.parts.push(part);
    }
    // When a response has no parts, ADK copies its finish reason to `errorCode`: even `STOP`, which is no error.
    if (rest.errorCode === 'STOP') delete rest.errorCode;
    const fields = Object.entries(rest).filter(([, value]) => value !== undefined && value !== null);
    Object.assign(this.tail, Object.fromEntries(fields));
  }

  response(): LlmResponse {
    const parts = this.withStreamed(this.parts);
    const tail = { ...this.usage, ...this.tail };
    if (parts.length > 0) return { content: { role: 'model', parts }, partial: false, ...tail };
    if (tail.errorCode) return { ...tail, partial: false };
    return {
      ...tail,
      errorCode: 'EMPTY_RESPONSE',
      errorMessage: 'The model returned no content. It may have blocked the prompt.',
      partial: false,
    };
  }

  /** The final response of a failed call. Text that the user has read stays in the history; calls are dropped. */
  failed(errorCode: string, errorMessage: string): LlmResponse {
    const parts = this.withStreamed(this.parts.filter((part) => !part.functionCall));
    return {
      ...this.usage,
      ...this.tail,
      ...(parts.length > 0 ? { content: { role: 'model', parts } } : {}),
      errorCode,
      errorMessage,
      partial: false,
    };
  }

  /** Adds the streamed thoughts and the streamed text if the final response of the model does not repeat them. */
  private withStreamed(parts: Part[]): Part[] {
    const streamed: Part[] = [];
    if (this.thought && !parts.some((part) => part.text && part.thought)) {
      streamed.push({ text: this.thought, thought: true });
    }
    if (this.text && !parts.some((part) => part.text && !part.thought)) streamed.push({ text: this.text });
    return [...streamed, ...parts];
  }
}

function isEmpty(part: Part): boolean {
  return part.text === '' && Object.keys(part).every((key) => key === 'text' || key === 'thought');
}
