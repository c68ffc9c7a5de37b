import type { BaseLlm, BaseLlmConnection, LlmRequest, LlmResponse } from '@google/adk';
import type { Blob, Content, FunctionResponse, Part } from '@google/genai';
import { type LiveFacts, withLiveFacts } from '../../adk/live-facts.ts';
import type { FastPath } from '../../adk/request-hooks.ts';
import { type ClaimCallId, takeClaim } from '../../adk/request-hooks.ts';
import { callsIn } from '../function-calls.ts';
import { callModel } from '../model-call.ts';
import { noticeOf } from '../prompt-texts.ts';
import { messageOf } from '../provider-error.ts';
import type { RetryPolicy } from '../retry-policy.ts';
import { endsInTransfer, TRANSFER } from './history.ts';
import { LiveResponses } from './response-queue.ts';
import { LiveConversation } from './turn-based-history.ts';
import { appendText } from './turn-output.ts';

/** One model call in progress, and its text so far. */
interface Generation {
  controller: AbortController;
  parts: Part[];
}

/** The limit that ADK itself has for the model calls of one run. */
const MAX_CALLS = 500;

/** Options of a live connection to a model without live API. */
export interface TurnBasedLiveOptions {
  /** How many times in a row the model may be called without input of the user. */
  maxCalls?: number;
  retryPolicy?: Partial<RetryPolicy> | undefined;
  /** Receives partial texts instead of ADK, while ADK waits for the next response. */
  fastPath?: FastPath | undefined;
}

/**
 * A live connection to a model without live API. It calls the model for every message of the user, and again when the model's calls are answered.
 * Realtime input (sound, and pictures of a camera) is ignored. `sendActivityStart` is an interruption: it ends the generation and the turn.
 */
export class TurnBasedLiveConnection implements BaseLlmConnection {
  private readonly model: BaseLlm;
  private readonly request: LlmRequest;
  private readonly retryPolicy: Partial<RetryPolicy> | undefined;
  private readonly maxCalls: number;
  private readonly conversation = new LiveConversation();
  private readonly fastPath: FastPath | undefined;
  private readonly claim: ClaimCallId | undefined;
  private readonly out = new LiveResponses();
  private generation: Generation | undefined;
  /** Late responses to calls, as texts (`noticeOf`). They are added to the conversation when the generation has ended. */
  private late: string[] = [];
  private callsInARow = 0;
  private isClosed = false;

  constructor(model: BaseLlm, request: LlmRequest, options: TurnBasedLiveOptions = {}) {
    this.model = model;
    this.request = request;
    this.retryPolicy = options.retryPolicy;
    this.fastPath = options.fastPath;
    this.claim = takeClaim(request);
    this.maxCalls = options.maxCalls ?? MAX_CALLS;
    // For a session with a handle ADK does not call `sendHistory`, because a live server would still have the history. This model has no
    // live server, so take the history from the request.
    if (request.liveConnectConfig.sessionResumption?.handle) this.conversation.addHistory(request.contents);
  }

  async sendHistory(history: Content[]): Promise<void> {
    this.conversation.addHistory(history);
    if (endsInTransfer(history)) this.generate();
  }

  async sendContent(content: Content): Promise<void> {
    if (this.isClosed) return;
    const parts = content.parts ?? [];
    let isDue = false;
    for (const { functionResponse } of parts) {
      if (!functionResponse) continue;
      const answered = this.conversation.answer(functionResponse);
      if (answered.kind === 'due') isDue ||= !handsOver(functionResponse);
      if (answered.kind === 'late') {
        const { name = '', response = {} } = functionResponse;
        this.late.push(noticeOf(name, answered.args, response));
      }
    }
    const written = parts.filter((part) => !part.functionResponse);
    if (written.length > 0) {
      this.interrupt();
      this.addLateResponses();
      this.conversation.addUser({ ...content, parts: written });
      this.callsInARow = 0;
      this.generate();
    } else if (!this.generation && (this.addLateResponses() || isDue)) this.generate();
  }

  async sendRealtime(_blob: Blob): Promise<void> {}

  async sendActivityStart(): Promise<void> {
    if (this.isClosed) return;
    const wasWaiting = this.conversation.isWaiting;
    const wasTalking = this.interrupt();
    this.addLateResponses();
    this.conversation.moveOn();
    if (!wasTalking && wasWaiting) this.out.push({ interrupted: true });
    if (wasTalking || wasWaiting) this.endTurn({ continues: false });
    // Duologue's server expects a `turnComplete` after every interruption, also while the model is idle.
    else this.endTurn({ continues: false, wasIdle: true });
  }

  async sendActivityEnd(): Promise<void> {}

  receive(): AsyncGenerator<LlmResponse, void, void> {
    return this.out.read();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.generation?.controller.abort();
    this.generation = undefined;
    this.out.close();
  }

  /** Ends the generation in progress. Its text so far stays in the history. Returns false when there was none. */
  private interrupt(): boolean {
    const { generation } = this;
    if (!generation) return false;
    this.generation = undefined;
    generation.controller.abort();
    if (generation.parts.length > 0) {
      const content = { role: 'model', parts: generation.parts };
      this.conversation.addModel(content);
      this.out.push({ content, partial: false });
    }
    this.out.push({ interrupted: true });
    return true;
  }

  private addLateResponses(): boolean {
    if (this.late.length === 0) return false;
    this.conversation.addUser({ role: 'user', parts: this.late.map((text) => ({ text })) });
    this.late = [];
    return true;
  }

  private generate(): void {
    this.callsInARow += 1;
    if (this.callsInARow > this.maxCalls) {
      this.finish({
        errorCode: 'TOO_MANY_CALLS',
        errorMessage: `The model was called ${this.maxCalls} times without a message of the user in between, so its turn was ended.`,
      });
      return;
    }
    const generation: Generation = { controller: new AbortController(), parts: [] };
    this.generation = generation;
    this.play(generation).catch((error: unknown) => this.out.fail(error));
  }

  /** Calls the model. A failure becomes a response. */
  private async play(generation: Generation): Promise<void> {
    const request = {
      ...this.request,
      contents: this.conversation.contents(),
      config: { ...this.request.config },
    };
    const { retryPolicy, claim } = this;
    const { signal } = generation.controller;
    // `callModel` passes each token to this function. Reading the tokens from its iterator would cost a promise for each.
    const fastPath = (partial: LlmResponse): Promise<void> | undefined => {
      if (this.generation !== generation) return undefined;
      for (const { text, thought } of partial.content?.parts ?? [])
        if (text) appendText(generation.parts, text, thought ?? false);
      if (this.fastPath && this.out.isAwaited) return this.fastPath(partial);
      this.out.push(partial);
      return undefined;
    };
    try {
      for await (const response of callModel(this.model, request, {
        stream: true,
        signal,
        retryPolicy,
        fastPath,
        claim,
      })) {
        if (this.generation !== generation) return;
        if (response.partial) this.out.push(response);
        else this.finish(response);
      }
    } catch (error) {
      if (this.generation !== generation) return;
      this.finish({ errorCode: 'MODEL_ERROR', errorMessage: messageOf(error) });
    }
  }

  private endTurn(facts: LiveFacts): void {
    this.out.push({ turnComplete: true, ...withLiveFacts(facts) });
  }

  private finish(response: LlmResponse): void {
    this.generation = undefined;
    if (response.content) this.conversation.addModel(response.content);
    this.out.push(response);
    if (callsIn(response.content).length === 0) this.endTurn({ continues: this.late.length > 0 });
    if (this.addLateResponses()) this.generate();
  }
}

/** Whether the response transfers the conversation to another agent, whose connection replaces this one. */
function handsOver({ name, response }: FunctionResponse): boolean {
  return name === TRANSFER && response?.error === undefined;
}
