/**
 * The code that only Gemini needs: repairs of ADK's HTTP calls (`call.ts`), and the live API of Gemini as a provider of `live/`: the setup for each model
 * family, the messages, the frames and the socket. A model keeps no state between two calls; the state of a live session belongs to its connection.
 */
import {
  type BaseLlmConnection,
  Gemini,
  type GeminiParams,
  type LlmRequest,
  type LlmResponse,
} from '@google/adk';
import type { HttpOptions } from '@google/genai';
import { callGemini } from './call.ts';
import { connectGemini, type GeminiLiveOptions } from './live-provider.ts';

/** Options of a Gemini model: ADK's own, the address of the service, and live connections. */
export interface DuologueGeminiParams extends GeminiParams {
  /** The address of the service, for a proxy or a test. */
  baseUrl?: string;
  live?: GeminiLiveOptions;
}

/**
 * ADK's Gemini with repairs. It keeps thought signatures, and reports a stream that was cut off as a failure. Its live connection resumes the session
 * after a lost socket, says why a connection failed, and passes interruptions and tool calls to ADK at once.
 */
export class DuologueGemini extends Gemini {
  private readonly baseUrl: string | undefined;
  readonly live: GeminiLiveOptions | undefined;

  constructor({ baseUrl, live, ...params }: DuologueGeminiParams) {
    super(params);
    this.baseUrl = baseUrl;
    this.live = live;
  }

  override generateContentAsync(
    request: LlmRequest,
    stream = false,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    return callGemini(this, request, stream, signal);
  }

  override connect(request: LlmRequest): Promise<BaseLlmConnection> {
    return connectGemini(this, request, this.live);
  }

  protected override getHttpOptions(): HttpOptions {
    return this.at(super.getHttpOptions());
  }

  protected override getLiveHttpOptions(): HttpOptions {
    return this.at(super.getLiveHttpOptions());
  }

  private at(options: HttpOptions): HttpOptions {
    return this.baseUrl === undefined ? options : { ...options, baseUrl: this.baseUrl };
  }
}
