/**
 * Speech for models that only read and write: speech-to-text before the model is called, text-to-speech while it writes. The
 * engines are passed in (`options.ts`), so this folder knows none of them. All state belongs to one live connection
 * (`connection.ts`) and ends with it.
 */
import { BaseLlm, type BaseLlmConnection, type LlmRequest, type LlmResponse } from '@google/adk';
import { TurnBasedLiveConnection } from '../live/turn-based.ts';
import { EarsConnection } from './connection.ts';
import type { EarsOptions } from './options.ts';

/**
 * Gives ears and a voice to a model that is called turn by turn. Sound that comes in becomes text, the model answers it, and the answer
 * is spoken sentence by sentence while it is written. What is typed is answered in writing.
 */
export function withEars(model: BaseLlm, options: EarsOptions): BaseLlm {
  return new EarsModel(model, options);
}

class EarsModel extends BaseLlm {
  readonly nativeLive = true;
  /** It can be called turn by turn, too. */
  readonly liveOnly = false;
  readonly senses: { hears: boolean; sees: boolean; speaks: boolean };
  private readonly inner: BaseLlm;
  private readonly options: EarsOptions;

  constructor(inner: BaseLlm, options: EarsOptions) {
    super({ model: inner.model });
    this.inner = inner;
    this.options = options;
    this.senses = { hears: true, sees: true, speaks: options.speak !== undefined };
  }

  override generateContentAsync(
    request: LlmRequest,
    stream?: boolean,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    return this.inner.generateContentAsync(request, stream, signal);
  }

  override async connect(request: LlmRequest): Promise<BaseLlmConnection> {
    const { patience } = this.options;
    const detection = request.liveConnectConfig?.realtimeInputConfig?.automaticActivityDetection;
    return new EarsConnection(new TurnBasedLiveConnection(this.inner, request, { patience }), {
      ...this.options,
      marked: detection?.disabled === true,
    });
  }
}
