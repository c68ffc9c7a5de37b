import type { LlmResponse } from '@google/adk';
import type { Part } from '@google/genai';

/** Collects the responses of one call into its only final response. */
export class FinalResponse {
  private readonly parts: Part[] = [];
  private readonly tail: LlmResponse = {};
  private thought = '';
  private text = '';
  /** The usage of the newest partial response. Some models send none at the end, and a failed call has no end. */
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
    // For a response without parts, ADK makes the finish reason an error code, even `STOP`, which is no error.
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

  /** Adds the streamed text where the final response of the model does not repeat it. */
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
