import { AsyncQueue, type LlmResponse } from '@google/adk';

/** The responses of a live connection, in order, for one reader. */
export class LiveResponses extends AsyncQueue<LlmResponse> {
  /** Whether the reader, which is ADK, waits for the next response. ADK asks for a response only after it has handled all earlier ones. */
  isAwaited = false;

  override push(response: LlmResponse): void {
    this.isAwaited = false;
    super.push(response);
  }

  read(): AsyncGenerator<LlmResponse, void, void> {
    return new Reading(this);
  }
}

/** This class implements the iterator itself, because every token passes through it and a generator function costs several times as much. */
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
