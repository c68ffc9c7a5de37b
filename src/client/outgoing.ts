import type { UIMessage } from 'ai';
import { encodeFrame } from '../protocol/encode-frame.ts';
import type { AnswerPart } from './call-tracker.ts';
import type { Connection } from './connection.ts';
import type { ToolPart } from './parts.ts';
import type { Played } from './played.ts';
import type { Request, Requests } from './requests.ts';

/** What the person says, as `useChat` sends it. */
interface Said {
  chatId: string;
  message: UIMessage;
  trigger: 'submit-message' | 'regenerate-message';
  messageId: string | undefined;
}

/** What a page sends: each request in a frame of its own, with a name, kept until the server has spoken about it. */
export class Outgoing {
  readonly #connection: Connection;
  readonly #requests: Requests;
  readonly #newId: () => string;

  constructor(connection: Connection, requests: Requests, newId: () => string) {
    this.#connection = connection;
    this.#requests = requests;
    this.#newId = newId;
  }

  /** Says something, in a request of that name, for a response. Throws when too much waits already. */
  say({ chatId, message, trigger, messageId }: Said, requestId: string, response: number): void {
    const text = encodeFrame('message', {
      id: chatId,
      messages: [message],
      trigger,
      ...(messageId === undefined ? {} : { messageId }),
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

  /** Sends answers to the calls of a message, for a response if one waits for them. */
  answer(chatId: string | null, messageId: string | undefined, answers: ToolPart[], response?: number): void {
    const data = {
      id: chatId,
      messages: [{ id: messageId, role: 'assistant', parts: answers }],
      trigger: 'submit-message' as const,
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

  #post(request: Omit<Request, 'requestId'>, text: (requestId: string) => string): void {
    const requestId = this.#newId();
    this.#requests.add({ ...request, requestId });
    this.#connection.post({ requestId, text: text(requestId) });
  }
}
