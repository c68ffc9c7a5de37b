import type { LlmResponse } from '@google/adk';
import type {
  GenerateContentResponseUsageMetadata,
  GroundingMetadata,
  LiveServerContent,
  LiveServerGoAway,
  LiveServerMessage,
  Part,
  UsageMetadata,
} from '@google/genai';

/** Turns the messages of Gemini's live server into responses for ADK: push each message, end when the connection does. */
export class GeminiMessages {
  private readonly modelVersion: string;
  /** Text and thoughts said in this turn and not yet told as a whole. */
  private said: Part[] = [];
  private heard = '';
  private spoken = '';
  private grounding: GroundingMetadata | undefined;
  private isBusy = false;
  private canResume: boolean;
  private goAway: LiveServerGoAway | undefined;

  constructor(options: { modelVersion: string; resumed: boolean }) {
    this.modelVersion = options.modelVersion;
    this.canResume = options.resumed;
  }

  push(message: LiveServerMessage): LlmResponse[] {
    const out: LlmResponse[] = [];
    if (message.usageMetadata) out.push({ usageMetadata: toUsage(message.usageMetadata) });
    if (message.serverContent) out.push(...this.pushContent(message.serverContent));
    const calls = message.toolCall?.functionCalls ?? [];
    if (calls.length > 0) {
      this.isBusy = true;
      out.push(...this.flush());
      out.push({ content: { role: 'model', parts: calls.map((functionCall) => ({ functionCall })) } });
    }
    if (message.toolCallCancellation) {
      const toolCallCancellation = message.toolCallCancellation.ids ?? [];
      out.push({ interrupted: true, customMetadata: { toolCallCancellation } });
    }
    if (message.sessionResumptionUpdate) {
      if (message.sessionResumptionUpdate.newHandle) this.canResume = true;
      out.push({ liveSessionResumptionUpdate: message.sessionResumptionUpdate });
    }
    if (message.goAway) this.goAway = message.goAway;
    out.push(...this.leave());
    return out.map((response) => ({ ...response, modelVersion: this.modelVersion }));
  }

  /** What was said or heard and not yet told as a whole. */
  end(): LlmResponse[] {
    return this.flush().map((response) => ({ ...response, modelVersion: this.modelVersion }));
  }

  private pushContent(content: LiveServerContent): LlmResponse[] {
    const out: LlmResponse[] = [];
    if (content.groundingMetadata) this.grounding = content.groundingMetadata;
    const parts = content.modelTurn?.parts ?? [];
    if (parts.length > 0) {
      this.isBusy = true;
      out.push(...this.pushParts(parts));
    }
    const { inputTranscription: input, outputTranscription: output } = content;
    if (input?.text) {
      this.heard += input.text;
      out.push({ inputTranscription: { text: input.text, finished: false }, partial: true });
    }
    if (input?.finished) out.push(...this.flushHeard());
    if (output?.text) {
      this.isBusy = true;
      out.push(...this.flushHeard());
      this.spoken += output.text;
      out.push({ outputTranscription: { text: output.text, finished: false }, partial: true });
    }
    if (output?.finished) out.push(...this.flushSpoken());
    const { interrupted, turnComplete, generationComplete } = content;
    if (interrupted || turnComplete || generationComplete)
      out.push(...this.flushHeard(), ...this.flushSpoken());
    if (interrupted || turnComplete) {
      this.isBusy = false;
      out.push(...this.flushSaid());
      out.push({
        ...(turnComplete ? { turnComplete: true } : {}),
        ...(interrupted ? { interrupted: true } : {}),
        ...(this.grounding ? { groundingMetadata: this.grounding } : {}),
      });
      this.grounding = undefined;
    }
    return out;
  }

  private pushParts(parts: Part[]): LlmResponse[] {
    const out: LlmResponse[] = [];
    for (const part of parts) {
      if (part.text !== undefined) {
        if (part.text === '') continue;
        this.say(part.text, part.thought ?? false);
        out.push({ content: { role: 'model', parts: [part] }, partial: true });
        continue;
      }
      // Sound goes along with what is said; anything else has its place in the order.
      if (!part.inlineData) out.push(...this.flushSaid());
      out.push({ content: { role: 'model', parts: [part] } });
    }
    return out;
  }

  private say(text: string, thought: boolean): void {
    const last = this.said.at(-1);
    if (last && (last.thought ?? false) === thought) last.text += text;
    else this.said.push(thought ? { text, thought } : { text });
  }

  private flush(): LlmResponse[] {
    return [...this.flushHeard(), ...this.flushSpoken(), ...this.flushSaid()];
  }

  private flushSaid(): LlmResponse[] {
    if (this.said.length === 0) return [];
    const parts = this.said;
    this.said = [];
    const grounding = this.grounding ? { groundingMetadata: this.grounding } : {};
    this.grounding = undefined;
    return [{ content: { role: 'model', parts }, partial: false, ...grounding }];
  }

  private flushHeard(): LlmResponse[] {
    if (!this.heard) return [];
    const text = this.heard;
    this.heard = '';
    return [{ inputTranscription: { text, finished: true }, partial: false }];
  }

  private flushSpoken(): LlmResponse[] {
    if (!this.spoken) return [];
    const text = this.spoken;
    this.spoken = '';
    return [{ outputTranscription: { text, finished: true }, partial: false }];
  }

  /**
   * ADK drops the connection the moment it learns that the server is leaving: so it learns it between two turns, and only when
   * there is something to resume from.
   */
  private leave(): LlmResponse[] {
    if (!this.goAway || this.isBusy || !this.canResume) return [];
    const { goAway } = this;
    this.goAway = undefined;
    return [{ goAway }];
  }
}

/** Live usage has its own names for what the model wrote; the usual ones are added. */
function toUsage(usage: UsageMetadata): GenerateContentResponseUsageMetadata {
  const { responseTokenCount, responseTokensDetails } = usage;
  return {
    ...usage,
    ...(responseTokenCount === undefined ? {} : { candidatesTokenCount: responseTokenCount }),
    ...(responseTokensDetails === undefined ? {} : { candidatesTokensDetails: responseTokensDetails }),
  } as GenerateContentResponseUsageMetadata;
}
