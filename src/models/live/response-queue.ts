import { AsyncQueue, type LlmResponse } from '@google/adk';

/** What a live connection says, in order, for the one who reads it. */
export class LiveResponses extends AsyncQueue<LlmResponse> {
  /** Whether the reader waits, and so has done with everything that it got: ADK asks for more only then. */
  isAwaited = false;

  override push(response: LlmResponse): void {
    this.isAwaited = false;
    super.push(response);
  }

  read(): AsyncGenerator<LlmResponse, void, void> {
    return new Reading(this);
  }
}

/** Written as an iterator, not as a generator: it stands in the way of every token, and a generator costs several times as much. */
class Reading implements AsyncGenerator<LlmResponse, void, void> {
  private readonly responses: LiveResponses;
  private readonly source: AsyncIterator<LlmResponse>;
  private isOver = false;

  constructor(responses: LiveResponses) {
    this.responses = responses;
    this.source = responses[Symbol.asyncIterator]();
  }

  next(): Promise<IteratorResult<LlmResponse, void>> {
    if (this.isOver) return this.return();
    this.responses.isAwaited = this.responses.size === 0;
    return this.source.next();
  }

  async return(): Promise<IteratorResult<LlmResponse, void>> {
    this.isOver = true;
    this.responses.isAwaited = false;
    return { done: true, value: undefined };
  }

  async throw(error: unknown): Promise<never> {
    await this.return();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
