import type { Message } from '../../../protocol/index.ts';
import { fromJson, toJson } from '../json.ts';
import { fitting } from '../rules.ts';
import type { Page, PageRequest, WaitingMessage } from '../store.ts';

/** The messages of one session, and those that wait to become messages of it. */
export class HeldMessages {
  readonly #messages = new Map<string, string>();
  readonly #waiting = new Map<string, string>();

  put(message: Message): void {
    this.#messages.set(message.id, toJson(message, 'The message'));
    if (message.role === 'assistant') this.#answerBefore(message.id);
  }

  all(): Message[] {
    return [...this.#messages.values()].map((text) => fromJson<Message>(text));
  }

  find(id: string): Message | null {
    const text = this.#messages.get(id);
    return text === undefined ? null : fromJson<Message>(text);
  }

  get size(): number {
    return this.#messages.size;
  }

  get bytes(): number {
    let bytes = 0;
    for (const text of this.#messages.values()) bytes += Buffer.byteLength(text);
    return bytes;
  }

  last(): Message | undefined {
    const text = [...this.#messages.values()].at(-1);
    return text === undefined ? undefined : fromJson<Message>(text);
  }

  page({ before, count, bytes }: PageRequest): Page | null {
    const messages = [...this.#messages];
    const end = before === undefined ? messages.length : messages.findIndex(([id]) => id === before);
    if (end === -1) return null;
    const sizes = messages.slice(0, end).map(([, text]) => Buffer.byteLength(text));
    const start = end - fitting(sizes.reverse(), count, bytes);
    return {
      messages: messages.slice(start, end).map(([, text]) => fromJson<Message>(text)),
      hasOlder: start > 0,
    };
  }

  /** Removes a message and all after it; false when it is not there. */
  truncate(id: string): boolean {
    const ids = [...this.#messages.keys()];
    const from = ids.indexOf(id);
    if (from === -1) return false;
    for (const removed of ids.slice(from)) this.#messages.delete(removed);
    return true;
  }

  addWaiting(waiting: WaitingMessage): void {
    this.#waiting.set(waiting.message.id, toJson(waiting, 'The message'));
  }

  waiting(): WaitingMessage[] {
    return [...this.#waiting.values()].map((text) => fromJson<WaitingMessage>(text));
  }

  /** What stands before a message of the agent is being answered. */
  #answerBefore(answer: string): void {
    if (this.#waiting.size === 0) return;
    for (const id of this.#messages.keys()) {
      if (id === answer) return;
      this.#waiting.delete(id);
    }
  }
}
