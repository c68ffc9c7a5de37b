import { BaseLlm, type BaseLlmConnection, type LlmRequest, type LlmResponse } from '@google/adk';
import { singleFinal } from './single-final.ts';

/** One model out of two: one is called turn by turn, the other is spoken with live. */
export function pairOf(turn: BaseLlm, live: BaseLlm): BaseLlm {
  return turn === live ? turn : new PairModel(turn, live);
}

class PairModel extends BaseLlm {
  readonly nativeLive = true;
  private readonly turn: BaseLlm;
  private readonly live: BaseLlm;

  constructor(turn: BaseLlm, live: BaseLlm) {
    super({ model: turn.model });
    this.turn = turn;
    this.live = live;
  }

  override generateContentAsync(
    request: LlmRequest,
    stream?: boolean,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    return this.turn.generateContentAsync({ ...request, model: this.turn.model }, stream, signal);
  }

  override connect(request: LlmRequest): Promise<BaseLlmConnection> {
    // ADK names the agent's one model in the request, and Gemini believes the request.
    return singleFinal(this.live).connect({ ...request, model: this.live.model });
  }
}
