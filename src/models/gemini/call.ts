import { Gemini, type LlmRequest, type LlmResponse } from '@google/adk';
import type { Content, GenerateContentResponse, Part } from '@google/genai';
import { markUnreadable } from '../../adk/history.ts';
import { setPartialArg } from '../../parse/partial-args.ts';
import { failureOf, ModelFailure, messageOf } from '../provider-error.ts';
import { readable } from '../text-files.ts';

/** Whether a model uses ADK's own `generateContentAsync`, with the defects that `callGemini` repairs. */
export function keepsStockCalls(model: Gemini): boolean {
  return model.generateContentAsync === Gemini.prototype.generateContentAsync;
}

/**
 * Calls Gemini. ADK's own call loses the signatures of text parts, and treats a stream that was cut off as complete. Calls without streaming, and calls
 * through the Interactions API, still use ADK's own call. Throws a `ModelFailure` when Gemini fails. An aborted call ends without an error.
 */
export async function* callGemini(
  model: Gemini,
  request: LlmRequest,
  stream: boolean,
  signal: AbortSignal | undefined,
): AsyncGenerator<LlmResponse, void> {
  const { vertexai } = model.apiClient;
  const contents = joined(request.contents.map((content) => acceptable(content, vertexai)));
  const isSigned = wantsSignatures(request.model ?? model.model);
  // `apiKey` is a private field of ADK's `Gemini`, so a cast is needed.
  const { apiKey } = model as unknown as { apiKey?: string };
  const secrets = apiKey ? [apiKey] : [];
  try {
    try {
      yield* ask(model, { ...request, contents: isSigned ? contents.map(signed) : contents }, stream, signal);
    } catch (error) {
      if (!isSigned || signal?.aborted || !refusesSignatures(error)) throw error;
      // The signatures may come from another model, or from the same model under another key. Only Gemini can check that, so the first attempt had them.
      // Repeat the call without them.
      const unsigned = contents.flatMap(withoutSignatures).map(signed);
      yield* ask(model, { ...request, contents: unsigned }, stream, signal);
    }
  } catch (error) {
    if (!signal?.aborted) throw failureOf(error, secrets);
  }
}

/** Calls Gemini once. Gemini refuses a request before it sends a chunk, so the caller may repeat a refused call. */
async function* ask(
  model: Gemini,
  request: LlmRequest,
  stream: boolean,
  signal: AbortSignal | undefined,
): AsyncGenerator<LlmResponse, void> {
  if (!stream || model.useInteractionsApi) {
    yield* Gemini.prototype.generateContentAsync.call(model, request, stream, signal);
    return;
  }
  model.maybeAppendUserContent(request);
  const { labels, ...config } = request.config ?? {};
  const answer = new GeminiAnswer();
  const chunks = await model.apiClient.models.generateContentStream({
    model: request.model ?? model.model,
    contents: request.contents,
    config: {
      ...config,
      ...(model.apiClient.vertexai && labels ? { labels } : {}),
      ...(signal ? { abortSignal: signal } : {}),
    },
  });
  for await (const chunk of chunks) yield answer.push(chunk);
  yield answer.end();
}

/**
 * Converts a content for Gemini: removes `partMetadata`, which Duologue or another provider has set, and turns text files into texts. The developer API
 * (not Vertex AI) accepts no file names, so they are removed for it.
 */
function acceptable(content: Content, vertexai: boolean): Content {
  if (
    !content.parts?.some(({ partMetadata, inlineData, fileData }) => partMetadata ?? inlineData ?? fileData)
  ) {
    return content;
  }
  const parts = content.parts.map(({ partMetadata: _, ...part }) => {
    const read = readable(part);
    return vertexai ? read : unnamed(read);
  });
  return { ...content, parts };
}

function unnamed(part: Part): Part {
  const { displayName: _, ...inlineData } = part.inlineData ?? {};
  const { displayName: __, ...fileData } = part.fileData ?? {};
  return { ...part, ...(part.inlineData ? { inlineData } : {}), ...(part.fileData ? { fileData } : {}) };
}

/**
 * Merges consecutive contents of the model: a live model produces texts and calls as separate contents, but Gemini accepts a call only in the first
 * content of the model after the user or after function responses.
 */
function joined(contents: Content[]): Content[] {
  const turns: Content[] = [];
  for (const content of contents) {
    const last = turns.at(-1);
    if (last?.role !== 'model' || content.role !== 'model') turns.push(content);
    else turns[turns.length - 1] = { ...last, parts: [...(last.parts ?? []), ...(content.parts ?? [])] };
  }
  return turns;
}

/** The stand-in signature that Gemini documents for calls without one, such as those of a live model. */
const UNSIGNED = 'skip_thought_signature_validator';

/** Whether a model refuses a history with a call that has no thought signature. */
function wantsSignatures(model: string): boolean {
  return /gemini-([3-9]|\d\d)|gemini-[\w-]+-latest/.test(model);
}

/** Adds the stand-in signature to the first call of a content, unless that call has a signature. */
function signed(content: Content): Content {
  const first = content.parts?.findIndex(({ functionCall }) => functionCall) ?? -1;
  if (first === -1 || content.parts?.[first]?.thoughtSignature) return content;
  const parts = (content.parts ?? []).map((part, index) =>
    index === first ? { ...part, thoughtSignature: UNSIGNED } : part,
  );
  return { ...content, parts };
}

/** Whether Gemini refused the request because of a signature, with the error `Corrupted thought signature`. */
function refusesSignatures(error: unknown): boolean {
  const { status } = error as { status?: unknown };
  return status === 400 && /thought.signature/i.test(messageOf(error));
}

/**
 * Removes the signatures from a content. A part that had only a signature is dropped, because Gemini refuses a part without data; a content of which no part
 * is left is dropped too.
 */
function withoutSignatures(content: Content): Content[] {
  const parts = (content.parts ?? [])
    .filter((part) => !part.thoughtSignature || !lacksData(part))
    .map(({ thoughtSignature: _, ...part }) => part);
  return parts.length > 0 ? [{ ...content, parts }] : [];
}

/** Whether a part has neither text nor other data: at most a signature, and the mark that it is a thought. */
function lacksData({ text = '', thought: _, thoughtSignature: __, ...data }: Part): boolean {
  return text === '' && Object.keys(data).length === 0;
}

/** Collects a stream of Gemini: each chunk becomes a partial response, and the end of the stream becomes the final response with the whole answer. */
class GeminiAnswer {
  private readonly parts: Part[] = [];
  private readonly tail: LlmResponse = {};
  private finishMessage: string | undefined;
  /** The call whose arguments are still arriving in pieces. */
  private open: { part: Part; args: Record<string, unknown>; path: string } | undefined;

  push(chunk: GenerateContentResponse): LlmResponse {
    const { tail } = this;
    const { usageMetadata, modelVersion, promptFeedback, candidates } = chunk;
    const candidate = candidates?.[0];
    if (usageMetadata) tail.usageMetadata = usageMetadata;
    if (modelVersion) tail.modelVersion = modelVersion;
    if (promptFeedback?.blockReason) {
      tail.errorCode = promptFeedback.blockReason;
      if (promptFeedback.blockReasonMessage) tail.errorMessage = promptFeedback.blockReasonMessage;
    }
    if (candidate?.finishReason) tail.finishReason = candidate.finishReason;
    if (candidate?.finishMessage) this.finishMessage = candidate.finishMessage;
    if (candidate?.groundingMetadata) tail.groundingMetadata = candidate.groundingMetadata;
    if (candidate?.citationMetadata) tail.citationMetadata = candidate.citationMetadata;
    const parts = candidate?.content?.parts ?? [];
    for (const part of parts) this.add(part);
    const words = parts.filter(({ text }) => text);
    if (words.length === 0) return { partial: true };
    const usage = usageMetadata ? { usageMetadata } : {};
    return { partial: true, content: { role: 'model', parts: words }, ...usage };
  }

  end(): LlmResponse {
    const { tail, parts, open } = this;
    if (!tail.finishReason && !tail.errorCode) {
      throw new ModelFailure('INCOMPLETE', 'The stream of the model ended before the answer was complete.');
    }
    if (open) markUnreadable(open.part);
    const isStop = !tail.finishReason || tail.finishReason === 'STOP';
    return {
      ...tail,
      ...(isStop || !tail.finishReason ? {} : { errorCode: tail.finishReason }),
      ...(isStop || this.finishMessage === undefined ? {} : { errorMessage: this.finishMessage }),
      ...(parts.length > 0 ? { content: { role: 'model', parts } } : {}),
      partial: false,
    };
  }

  private add(part: Part): void {
    if (part.functionCall) this.call(part);
    // A proxy may leave out the empty text of a part with a signature. Gemini would refuse that part in the history, so it is read as a text.
    else if (typeof part.text === 'string' || lacksData(part)) this.say(part);
    else this.parts.push(part);
  }

  /** Appends a piece of text to the last part, if that part is of the same kind. After a part with a signature, the next piece starts a new part. */
  private say({ text = '', ...rest }: Part): void {
    const last = this.parts.at(-1);
    const isSame = last?.text !== undefined && (last.thought ?? false) === (rest.thought ?? false);
    if (!isSame || last.thoughtSignature) {
      if (text || rest.thoughtSignature) this.parts.push({ ...rest, text });
      return;
    }
    last.text += text;
    if (rest.thoughtSignature) last.thoughtSignature = rest.thoughtSignature;
  }

  private call(part: Part): void {
    const { partialArgs, willContinue, ...call } = part.functionCall ?? {};
    if (!this.open) {
      const args = call.args ?? {};
      const whole: Part = { ...part, functionCall: { ...call, args } };
      this.parts.push(whole);
      if (!partialArgs && !willContinue) return;
      this.open = { part: whole, args, path: '' };
    }
    const { open } = this;
    for (const piece of partialArgs ?? []) open.path = setPartialArg(open.args, { ...piece }, open.path);
    if (part.thoughtSignature) open.part.thoughtSignature ??= part.thoughtSignature;
    if (!willContinue) this.open = undefined;
  }
}
