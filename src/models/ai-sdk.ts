import { BaseLlm, type BaseLlmConnection, type LlmRequest, type LlmResponse } from '@google/adk';
import { FinishReason, type GenerateContentResponseUsageMetadata, type Part } from '@google/genai';
import { markUnreadable } from '../adk/history.ts';
import { keepMetadata, type StreamPart, toCallOptions } from './ai-sdk-prompt.ts';
import { TurnBasedLiveConnection } from './live/turn-based.ts';
import { failureOf, ModelFailure } from './provider-error.ts';

/** A language model of an AI SDK provider. `specificationVersion` is `v3` for `ai` 6 and `v4` for `ai` 7. */
export interface AiSdkModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  doStream(options: never): PromiseLike<{ stream: ReadableStream<unknown> }>;
}

/** Options of a model of the AI SDK. */
export interface FromAiSdkOptions {
  /** The `providerOptions` of each call in the AI SDK, such as `{ openai: { store: false } }`. */
  providerOptions?: Record<string, Record<string, unknown>>;
  /** Keys that are removed from every error text. */
  secrets?: readonly string[];
}

/**
 * Wraps a language model of an AI SDK provider (`ai` 6 or 7) for ADK agents. The agents can use it in live runs, too.
 *
 * @example
 * const agent = new LlmAgent({ name: 'assistant', model: fromAiSdk(anthropic('claude-sonnet-5-5')) });
 */
export function fromAiSdk(model: AiSdkModel, options: FromAiSdkOptions = {}): BaseLlm {
  if (model.specificationVersion !== 'v3' && model.specificationVersion !== 'v4') {
    throw new Error(
      `The model ${model.provider}/${model.modelId} implements version ${model.specificationVersion} of the AI SDK's model interface. Duologue supports v3 (ai 6) and v4 (ai 7): install a version of the provider's package for one of them.`,
    );
  }
  return new AiSdkLlm(model, options);
}

class AiSdkLlm extends BaseLlm {
  private readonly inner: AiSdkModel;
  private readonly options: FromAiSdkOptions;

  constructor(inner: AiSdkModel, options: FromAiSdkOptions) {
    super({ model: inner.modelId });
    this.inner = inner;
    this.options = options;
  }

  override async *generateContentAsync(
    request: LlmRequest,
    stream = false,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    const { providerOptions, secrets } = this.options;
    const options = {
      ...toCallOptions(request, this.inner.specificationVersion),
      ...(providerOptions ? { providerOptions } : {}),
      ...(signal ? { abortSignal: signal } : {}),
    };
    const answer = new Answer(secrets);
    try {
      const result = await this.inner.doStream(options as never);
      for await (const part of result.stream as ReadableStream<StreamPart>) {
        const partial = answer.push(part);
        if (partial && stream) yield partial;
      }
      if (!signal?.aborted) yield answer.end();
    } catch (error) {
      if (!signal?.aborted) throw failureOf(error, secrets);
    }
  }

  override async connect(request: LlmRequest): Promise<BaseLlmConnection> {
    return new TurnBasedLiveConnection(this, request);
  }
}

const FINISH: Record<string, FinishReason> = {
  stop: FinishReason.STOP,
  'tool-calls': FinishReason.STOP,
  length: FinishReason.MAX_TOKENS,
  'content-filter': FinishReason.SAFETY,
};

/** An empty partial response. It restarts the timeout of the call while the model writes the arguments of a tool call. */
const ALIVE: LlmResponse = { partial: true };

/**
 * Collects the stream of a provider: each delta becomes a partial response, and the end of the stream becomes the final response with the whole
 * answer.
 */
class Answer {
  private readonly secrets: readonly string[] | undefined;
  private readonly parts: Part[] = [];
  private readonly texts = new Map<string, Part>();
  private readonly sources: { web: { uri: string; title?: string } }[] = [];
  private finishReason: FinishReason = FinishReason.OTHER;
  private isWhole = false;
  private usage: GenerateContentResponseUsageMetadata | undefined;
  private modelVersion: string | undefined;

  /** `secrets`: keys that are removed from the text of an error in the stream. */
  constructor(secrets: readonly string[] | undefined) {
    this.secrets = secrets;
  }

  push(part: StreamPart): LlmResponse | undefined {
    switch (part.type) {
      case 'text-start':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-end':
        if (part.providerMetadata) Object.assign(this.textOf(part), keepMetadata(part.providerMetadata));
        return undefined;
      case 'text-delta':
      case 'reasoning-delta': {
        const text = this.textOf(part);
        text.text += part.delta;
        Object.assign(text, keepMetadata(part.providerMetadata));
        if (!part.delta) return undefined;
        const { thought } = text;
        return {
          content: { role: 'model', parts: [{ text: part.delta, ...(thought ? { thought } : {}) }] },
          partial: true,
        };
      }
      case 'tool-input-delta':
        return ALIVE;
      case 'tool-call':
        // The provider has already run its own tool, so ADK must not get the call.
        if (part.providerExecuted) return undefined;
        this.parts.push(toCall(part));
        return undefined;
      case 'file': {
        const data = toBase64(part.data);
        if (data) this.parts.push({ inlineData: { mimeType: part.mediaType, data } });
        return undefined;
      }
      case 'source':
        if (part.sourceType === 'url') {
          this.sources.push({ web: { uri: part.url, ...(part.title ? { title: part.title } : {}) } });
        }
        return undefined;
      case 'response-metadata':
        this.modelVersion = part.modelId ?? this.modelVersion;
        return undefined;
      case 'finish':
        this.finishReason = FINISH[part.finishReason.unified] ?? FinishReason.OTHER;
        // When a stream was cut off, the AI SDK reports the finish reason `other`, without a `raw` reason of the provider.
        this.isWhole = part.finishReason.unified !== 'other' || part.finishReason.raw !== undefined;
        this.usage = toUsage(part.usage);
        return undefined;
      case 'error': {
        const failure = failureOf(part.error, this.secrets);
        // Some providers report an error without a status. Treat it as a 500, which is retried.
        throw failure instanceof ModelFailure ? failure : new ModelFailure('500', failure.message);
      }
      default:
        return undefined;
    }
  }

  end(): LlmResponse {
    if (!this.isWhole)
      throw new ModelFailure('INCOMPLETE', 'The stream of the model ended before the answer was complete.');
    const parts = this.parts.filter((part) => part.text !== '' || part.partMetadata);
    const { finishReason, usage, modelVersion } = this;
    const common: LlmResponse = {
      partial: false,
      finishReason,
      ...(usage ? { usageMetadata: usage } : {}),
      ...(modelVersion ? { modelVersion } : {}),
      ...(this.sources.length > 0 ? { groundingMetadata: { groundingChunks: this.sources } } : {}),
      ...(finishReason === FinishReason.STOP ? {} : { errorCode: finishReason }),
    };
    if (parts.length > 0) return { ...common, content: { role: 'model', parts } };
    return { errorCode: 'EMPTY_RESPONSE', errorMessage: 'The model returned no content.', ...common };
  }

  private textOf(part: { type: string; id: string }): Part {
    const thought = part.type.startsWith('reasoning');
    const key = `${thought}:${part.id}`;
    const known = this.texts.get(key);
    if (known) return known;
    const text: Part = { text: '', ...(thought ? { thought } : {}) };
    this.texts.set(key, text);
    this.parts.push(text);
    return text;
  }
}

function toCall(call: Extract<StreamPart, { type: 'tool-call' }>): Part {
  const args = readArguments(call.input);
  const part: Part = {
    functionCall: { id: call.toolCallId, name: call.toolName, args: args ?? {} },
    ...keepMetadata(call.providerMetadata),
  };
  if (!args) markUnreadable(part);
  return part;
}

/**
 * Parses the arguments of a call. For a call without arguments, providers send an empty text or `null`; any other value that is not an object is
 * unreadable.
 */
function readArguments(input: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(input.trim() || '{}') ?? {};
    return typeof value === 'object' && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** The data of a file in Base64. `ai` 7 wraps it in an object. */
function toBase64(data: unknown): string | undefined {
  if (typeof data === 'string') return data;
  if (data instanceof Uint8Array) return Buffer.from(data).toString('base64');
  return data ? toBase64((data as { data?: unknown }).data) : undefined;
}

/** Converts token counts. In ADK, the count of the answer excludes thoughts; providers of the AI SDK include them. */
function toUsage({
  inputTokens,
  outputTokens,
}: Extract<StreamPart, { type: 'finish' }>['usage']): GenerateContentResponseUsageMetadata {
  const { total: input, cacheRead, cacheWrite } = inputTokens;
  const { total: output, reasoning } = outputTokens;
  return {
    ...(input === undefined ? {} : { promptTokenCount: input }),
    ...(cacheRead ? { cachedContentTokenCount: cacheRead } : {}),
    // Google's usage metadata has no field for tokens that were written to a cache, so this field has OpenAI's name. `promptTokenCount` includes these
    // tokens.
    ...(cacheWrite ? { cache_write_tokens: cacheWrite } : {}),
    ...(output === undefined ? {} : { candidatesTokenCount: output - (reasoning ?? 0) }),
    ...(reasoning ? { thoughtsTokenCount: reasoning } : {}),
    ...(input === undefined || output === undefined ? {} : { totalTokenCount: input + output }),
  };
}
