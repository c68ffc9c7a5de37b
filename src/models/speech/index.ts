/**
 * Speech for models that only read and write: speech-to-text before the model is called, text-to-speech while it writes. The
 * engines are passed in, so this folder knows none of them. All state belongs to one live connection (`connection.ts`) and ends
 * with it.
 */
import { BaseLlm, type BaseLlmConnection, type LlmRequest, type LlmResponse } from '@google/adk';
import type { ModelCapabilities } from '../capabilities.ts';
import { TurnBasedLiveConnection } from '../live/turn-based.ts';
import { SpeechConnection, type SpeechOptions } from './connection.ts';

export type { SpeechOptions } from './connection.ts';
export type { TextToSpeech } from './speaker.ts';
export type { SpeechToText } from './utterance.ts';

/**
 * Adds speech to a model that is called turn by turn. Speech of the user becomes text, the model answers it, and the answer is
 * spoken sentence by sentence while it is written. Typed messages are answered in writing.
 *
 * @example
 * const model = withSpeech(fromAiSdk(openai('gpt-6-luna')), { speechToText, textToSpeech });
 */
export function withSpeech(model: BaseLlm, options: SpeechOptions): BaseLlm {
  return new SpeechModel(model, options);
}

class SpeechModel extends BaseLlm {
  readonly nativeLive = true;
  /** The model can also be called turn by turn. */
  readonly liveOnly = false;
  readonly capabilities: ModelCapabilities;
  private readonly inner: BaseLlm;
  private readonly options: SpeechOptions;

  constructor(inner: BaseLlm, options: SpeechOptions) {
    super({ model: inner.model });
    this.inner = inner;
    this.options = options;
    this.capabilities = { audioIn: true, imageIn: true, audioOut: options.textToSpeech !== undefined };
  }

  override generateContentAsync(
    request: LlmRequest,
    stream?: boolean,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    return this.inner.generateContentAsync(request, stream, signal);
  }

  override async connect(request: LlmRequest): Promise<BaseLlmConnection> {
    const { retryPolicy } = this.options;
    const detection = request.liveConnectConfig?.realtimeInputConfig?.automaticActivityDetection;
    const inner = new TurnBasedLiveConnection(this.inner, request, { retryPolicy });
    return new SpeechConnection(inner, this.options, { hasSignals: detection?.disabled === true });
  }
}
