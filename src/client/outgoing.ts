import type { UIMessage } from 'ai';
import { encodeFrame } from '../protocol/codec.ts';
import type { AnswerPart } from './call-tracker.ts';
import type { Connection } from './connection.ts';
import type { ToolPart } from './parts.ts';
import type { Played } from './played.ts';
import type { Request, Requests } from './requests.ts';

/** The trigger of a request to continue a message that was cut. */
export const CONTINUE = 'continue-message';

/** What a single request of the chat brings along: only a post can carry it. */
export interface RequestExtras {
  headers?: Record<string, string> | Headers | undefined;
  body?: object | undefined;
}

/** What the person says, as `useChat` sends it. */
interface Said extends RequestExtras {
  message: UIMessage;
  trigger: 'submit-message' | 'regenerate-message';
  messageId: string | undefined;
}

/** What a page sends: each request in a frame of its own, with a name, kept until the server has spoken about it. */
export class Outgoing {
  chatId: string | null = null;
  readonly #connection: Connection;
  readonly #requests: Requests;
  readonly #newId: () => string;

  constructor(connection: Connection, requests: Requests, newId: () => string) {
    this.#connection = connection;
    this.#requests = requests;
    this.#newId = newId;
  }

  /** Says something, in a request of that name, for a response. Throws when too much waits already. */
  say(said: Said, requestId: string, response: number): void {
    const { message, trigger, messageId } = said;
    const text = encodeFrame('message', {
      ...this.#extras(said),
      id: this.chatId,
      messages: [message],
      trigger,
      messageId,
      requestId,
    });
    this.#requests.add({ requestId, response, message });
    try {
      this.#connection.post({ requestId, text, isTyped: true });
    } catch (error) {
      this.#requests.take(requestId);
      throw error;
    }
  }

  /** Sends answers to the calls of a message, or asks to continue it, for a response if one waits for that. */
  answer(
    messageId: string | undefined,
    answers: ToolPart[],
    response?: number,
    extras?: RequestExtras,
    trigger: 'submit-message' | typeof CONTINUE = 'submit-message',
  ): void {
    const data = {
      ...this.#extras(extras),
      id: this.chatId,
      messages: [{ id: messageId, role: 'assistant', parts: answers }],
      trigger,
      messageId,
    };
    this.#post({ answers, response }, (requestId) => encodeFrame('message', { ...data, requestId }));
  }

  /** Sends one answer at once, beside whatever is being said. */
  result(part: AnswerPart, data: object): void {
    const { toolCallId } = part;
    this.#post({ answers: [part] }, (requestId) =>
      encodeFrame('tool_result', { toolCallId, ...data, requestId }),
    );
  }

  interrupt(played: Played | undefined): void {
    this.#post({}, (requestId) => encodeFrame('interrupt', { reason: 'user_abort', ...played, requestId }));
  }

  /** A frame on a socket has no headers, and is read by nobody on the way. */
  #extras({ headers, body }: RequestExtras = {}): object {
    return this.#connection.isPosting ? { ...body, headers: Object.fromEntries(new Headers(headers)) } : {};
  }

  #post(request: Omit<Request, 'requestId'>, text: (requestId: string) => string): void {
    const requestId = this.#newId();
    this.#requests.add({ ...request, requestId });
    this.#connection.post({ requestId, text: text(requestId) });
  }
}
