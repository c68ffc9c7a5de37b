import type { UIMessage } from 'ai';
import type { DataParts } from '../protocol/chunks.ts';
import type { FrameData } from '../protocol/wire/frames.ts';
import type { Connection, OutgoingFrame, Played, RequestExtras } from './link/index.ts';
import type { AnswerPart, ToolPart } from './tool-calls.ts';

/** The trigger of a request to continue a message that was cut. */
export const CONTINUE = 'continue-message';

/** A request that waits for the server to accept or reject it, or an accepted request whose answer has not started. */
export interface PendingRequest {
  requestId: string;
  /** The number of the response that was opened for the request. */
  response?: number | undefined;
  /** The user message in the request. */
  message?: UIMessage | undefined;
  /** The answers in the request, and how many of them the server rejected. */
  answers?: readonly AnswerPart[] | undefined;
  rejections?: number;
  settle?: Settle | undefined;
}

/** Called once: without an error when the server has accepted the request, else with the reason why the request failed. */
export type Settle = (error?: Error) => void;

/** A user message, as `useChat` passes it to the transport. */
interface UserMessage extends RequestExtras {
  message: UIMessage;
  trigger: 'submit-message' | 'regenerate-message';
  messageId: string | undefined;
}

/** Options of a request that carries answers to calls. */
interface AnswerOptions {
  /** The number of the response that was opened for the request. */
  response?: number | undefined;
  extras?: RequestExtras | undefined;
  trigger?: 'submit-message' | typeof CONTINUE;
  settle?: Settle | undefined;
}

/**
 * Owns the requests of a page. It gives each an id, sends it over the connection, and keeps its content until the server has rejected it, or until
 * the message that answers it has started. A request that no message answers is kept until the server has accepted it.
 */
export class Requests {
  readonly #connection: Connection;
  readonly #newId: () => string;
  readonly #pending = new Map<string, PendingRequest>();
  /** Accepted requests, by the id of the message that will answer them. */
  readonly #accepted = new Map<string, PendingRequest>();
  #chatId: string | null = null;

  constructor(connection: Connection, newId: () => string) {
    this.#connection = connection;
    this.#newId = newId;
  }

  /** Sets the chat that later requests belong to. */
  setChat(chatId: string): void {
    this.#chatId = chatId;
  }

  newId(): string {
    return this.#newId();
  }

  /** Sends a user message with this request id. Throws `busy` when too many requests wait for the server. */
  sendMessage(sent: UserMessage, requestId: string, response: number): void {
    const { message, trigger, messageId } = sent;
    const data = { id: this.#chatId, messages: [message], trigger, messageId, requestId };
    this.#post({ requestId, response, message }, { type: 'message', data, extras: sent }, { isTyped: true });
  }

  /** Sends answers to the calls of a message. With the trigger `CONTINUE` it asks the agent to continue the message instead. */
  sendAnswers(messageId: string | undefined, answers: ToolPart[], options: AnswerOptions = {}): void {
    const { response, extras, trigger = 'submit-message', settle } = options;
    const requestId = this.newId();
    const messages = [{ id: messageId, role: 'assistant', parts: answers }];
    const data = { id: this.#chatId, messages, trigger, messageId, requestId };
    this.#post({ requestId, answers, response, settle }, { type: 'message', data, extras });
  }

  /** Sends one answer in a `tool_result` frame. */
  sendResult(part: ToolPart, settle?: Settle): void {
    const { toolCallId, state, output, errorText, approval } = part;
    const requestId = this.newId();
    const data: FrameData['tool_result'] = { toolCallId, requestId };
    if (state === 'output-available') data.result = output;
    else if (state === 'output-error') data.error = errorText;
    else {
      data.status = approval?.approved ? 'approved' : 'rejected';
      if (approval?.reason !== undefined) data.reason = approval.reason;
      if (approval?.payload !== undefined) data.payload = approval.payload;
    }
    this.#post({ requestId, answers: [part], settle }, { type: 'tool_result', data });
  }

  /** Asks the server to stop the agent. */
  interrupt(played: Played | undefined): void {
    const requestId = this.newId();
    this.#post({ requestId }, { type: 'interrupt', data: { reason: 'user_abort', ...played, requestId } });
  }

  /** Removes a request that was answered or is no longer wanted, and returns it. */
  take(requestId: string): PendingRequest | undefined {
    const request = this.#pending.get(requestId);
    this.#pending.delete(requestId);
    return request;
  }

  /** Removes all requests, and returns those that the server has neither accepted nor rejected. */
  takeAll(): PendingRequest[] {
    const all = [...this.#pending.values()];
    this.#accepted.clear();
    this.#pending.clear();
    return all;
  }

  /** Withdraws the request for which a response was opened. Returns whether the server cannot have accepted it. */
  withdraw(response: number): boolean {
    const request = [...this.#pending.values()].find((one) => one.response === response);
    if (!request) return false;
    this.take(request.requestId);
    return this.#connection.withdraw(request.requestId);
  }

  /** Records that the server accepted a request, which the message `messageId` will answer. Returns whether this page sent the request. */
  accept(requestId: string, messageId: string | undefined): boolean {
    const request = this.take(requestId);
    if (request && messageId !== undefined) this.#accepted.set(messageId, request);
    request?.settle?.();
    return request !== undefined;
  }

  /** Forgets the request that this message answers. The message has started, so the user message of the request is part of the conversation. */
  messageStarted(messageId: string | undefined): void {
    if (messageId !== undefined) this.#accepted.delete(messageId);
  }

  /**
   * Removes and returns the request that an error rejects. Returns undefined when this page has no such request, and while the server may
   * still accept another answer of the same request.
   */
  reject({ requestId, code }: DataParts['error']): PendingRequest | undefined {
    const request = this.#pending.get(requestId ?? '');
    if (!request) return undefined;
    request.rejections = (request.rejections ?? 0) + 1;
    const isPartial = code === 'answer_refused' && request.rejections < (request.answers?.length ?? 1);
    return isPartial ? undefined : this.take(request.requestId);
  }

  /** Whether a request contains that user message, and the answer to it has not started. */
  hasMessage(messageId: string): boolean {
    return this.#all.some(({ message }) => message?.id === messageId);
  }

  /** Whether any request contains a user message whose answer has not started. */
  get hasMessages(): boolean {
    return this.#all.some(({ message }) => message !== undefined);
  }

  /** Returns the messages of the server, followed by those user messages of this page whose answer has not started. The server may lack these. */
  appendTo(messages: readonly UIMessage[]): UIMessage[] {
    for (const { id } of messages) this.messageStarted(id);
    return this.#all.reduce<UIMessage[]>(
      (all, { message }) => {
        if (!message) return all;
        // A request that edits or regenerates sends a message again. The server then removes that message and everything after it.
        const at = all.findIndex(({ id }) => id === message.id);
        return [...(at === -1 ? all : all.slice(0, at)), message];
      },
      [...messages],
    );
  }

  get #all(): PendingRequest[] {
    return [...this.#accepted.values(), ...this.#pending.values()];
  }

  #post(request: PendingRequest, frame: OutgoingFrame, more: { isTyped?: true } = {}): void {
    const { requestId } = request;
    this.#pending.set(requestId, request);
    try {
      this.#connection.post({ requestId, frame, ...more });
    } catch (error) {
      this.take(requestId);
      throw error;
    }
  }
}
