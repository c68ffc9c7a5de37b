import type { AcceptedRequest } from '../../protocol/chunks.ts';
import { ProtocolError } from '../../protocol/errors.ts';
import type { OutgoingFrame } from './link.ts';

/** A request that must reach the server. */
export interface OutgoingRequest {
  /** The id of the request, which its frame carries in `requestId`. */
  requestId: string;
  frame: OutgoingFrame;
  /**
   * Whether the request is a message that the user typed. Only such a request fails when too many requests wait; the number of answers is limited by the
   * number of calls.
   */
  isTyped?: true;
}

type Entry = OutgoingRequest & { isSent: boolean; rejections: number };

const MAX_REQUESTS = 64;
/** A request fails when nodes have rejected it this many times because the session was moving to another node. */
const MAX_REJECTIONS = 10;

/**
 * The requests that the server has neither accepted nor finally rejected, in order. A request that was rejected because its session is moving stays
 * here. It is safe to send a request again, because the server remembers the ids of the requests that it accepted.
 */
export class Outbox {
  #entries: Entry[] = [];

  /** Adds a request. `isSent`: the caller sends it now; otherwise `resend` returns it. Throws `busy` for a typed message when too many requests wait. */
  add(request: OutgoingRequest, isSent: boolean): void {
    if (request.isTyped && this.#entries.length >= MAX_REQUESTS) {
      throw new ProtocolError('busy', 'Too many messages wait: try again when connected.');
    }
    this.#entries.push({ ...request, isSent, rejections: 0 });
  }

  /**
   * Removes a request that the server answered or the page withdraws. Returns whether the server cannot have accepted it: it was never sent, or only
   * rejected because its session was moving.
   */
  remove(requestId: string): boolean {
    const entry = this.#find(requestId);
    this.#entries = this.#entries.filter((other) => other !== entry);
    return entry?.isSent === false;
  }

  /** Handles a rejection because the session moves to another node. Returns whether the next link sends the request again. */
  retry(requestId: string): boolean {
    const entry = this.#find(requestId);
    if (!entry || ++entry.rejections === MAX_REJECTIONS) return false;
    entry.isSent = false;
    return true;
  }

  /** Returns the frames to send on a new link, in order. `received` are the requests that the server already has: they are removed. */
  resend(received: readonly AcceptedRequest[]): OutgoingFrame[] {
    const ids = new Set(received.map(({ requestId }) => requestId));
    this.#entries = this.#entries.filter(({ requestId }) => !ids.has(requestId));
    for (const entry of this.#entries) entry.isSent = true;
    return this.#entries.map(({ frame }) => frame);
  }

  clear(): void {
    this.#entries = [];
  }

  #find(id: string): Entry | undefined {
    return this.#entries.find(({ requestId }) => requestId === id);
  }
}
