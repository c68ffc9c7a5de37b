import { BaseLlm, type BaseLlmConnection, type LlmRequest, type LlmResponse } from '@google/adk';

/** One model out of two: one is called turn by turn, the other is spoken with live. */
export function pairOf(turn: BaseLlm, live: BaseLlm): BaseLlm {
  return turn === live ? turn : new PairModel(turn, live);
}

/** The model that is spoken with live: of a pair its second, else the model itself. */
export function liveOf(model: BaseLlm): BaseLlm {
  return model instanceof PairModel ? model.live : model;
}

class PairModel extends BaseLlm {
  readonly live: BaseLlm;
  private readonly turn: BaseLlm;

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
    return this.live.connect({ ...request, model: this.live.model });
  }
}
