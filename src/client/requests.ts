import type { UIMessage } from 'ai';
import type { DataParts } from '../protocol/chunks.ts';
import type { AnswerPart } from './call-tracker.ts';

/** A request that the server has said nothing about yet. */
export interface Request {
  requestId: string;
  /** The response that waits for it. */
  response?: number | undefined;
  /** What the person says in it. */
  message?: UIMessage | undefined;
  /** The answers in it, and how many of them were refused. */
  answers?: readonly AnswerPart[] | undefined;
  refusals?: number;
}

/** The requests of a page that the server has neither accepted nor refused, in order; and those whose answer has not begun. */
export class Requests {
  readonly #open = new Map<string, Request>();
  /** What was accepted, by the message that will answer it. */
  readonly #awaited = new Map<string, Request>();

  add(request: Request): void {
    this.#open.set(request.requestId, request);
  }

  /** Takes a request out: the server has it, or nobody wants it any more. */
  take(requestId: string): Request | undefined {
    const request = this.#open.get(requestId);
    this.#open.delete(requestId);
    return request;
  }

  /** The server has the request, and that message will answer it. Says whether it is one of ours. */
  accept(requestId: string, messageId: string | undefined): boolean {
    const request = this.take(requestId);
    if (request && messageId !== undefined) this.#awaited.set(messageId, request);
    return request !== undefined;
  }

  /** A message begins: what it answers is in the conversation now. */
  begin(messageId: string | undefined): void {
    if (messageId !== undefined) this.#awaited.delete(messageId);
  }

  /** Takes out the request that an error is about; none when others of its answers may still count. */
  refuse({ requestId, code }: DataParts['error']): Request | undefined {
    const request = this.#open.get(requestId ?? '');
    if (!request) return undefined;
    request.refusals = (request.refusals ?? 0) + 1;
    const isPart = code === 'answer_refused' && request.refusals < (request.answers?.length ?? 1);
    return isPart ? undefined : this.take(request.requestId);
  }

  /** Takes out all. */
  takeAll(): Request[] {
    this.#awaited.clear();
    return [...this.#open.keys()].flatMap((requestId) => this.take(requestId) ?? []);
  }

  /** Whether the message is said in a request of ours whose answer has not begun. */
  says(messageId: string): boolean {
    return this.#all.some(({ message }) => message?.id === messageId);
  }

  /** The request that a response waits for. */
  of(response: number): Request | undefined {
    return [...this.#open.values()].find((request) => request.response === response);
  }

  get #all(): Request[] {
    return [...this.#awaited.values(), ...this.#open.values()];
  }

  /** A conversation of the server, with what the person has said and it does not show yet. */
  after(messages: readonly UIMessage[]): UIMessage[] {
    for (const { id } of messages) this.begin(id);
    return this.#all.reduce<UIMessage[]>(
      (all, { message }) => {
        if (!message) return all;
        const at = all.findIndex(({ id }) => id === message.id);
        return [...(at === -1 ? all : all.slice(0, at)), message];
      },
      [...messages],
    );
  }
}
