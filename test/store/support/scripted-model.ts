import { BaseLlm, type BaseLlmConnection, type LlmRequest, type LlmResponse } from '@google/adk';

/** A model that gives one prepared response after the other, and keeps what it was asked. */
export class ScriptedModel extends BaseLlm {
  readonly requests: LlmRequest[] = [];
  readonly #responses: LlmResponse[];

  constructor(responses: LlmResponse[]) {
    super({ model: 'scripted' });
    this.#responses = responses;
  }

  override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void> {
    this.requests.push(structuredClone({ ...request, toolsDict: {}, liveConnectConfig: {}, config: {} }));
    const response = this.#responses.shift();
    if (response === undefined) throw new Error('The script has ended.');
    yield structuredClone(response);
  }

  override async connect(): Promise<BaseLlmConnection> {
    throw new Error('The scripted model has no live connection.');
  }
}
