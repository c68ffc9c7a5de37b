import type { AcceptedRequest } from '../protocol/chunks.ts';
import { ProtocolError } from '../protocol/errors.ts';

/** A frame that must arrive. */
export interface Letter {
  /** Names the request, in `requestId` of its data. */
  requestId: string;
  text: string;
  /** Whether a person typed it: answers are as many as there are calls, but that has no end. */
  isTyped?: true;
}

type Entry = { letter: Letter; isSent: boolean; refusals: number };

const MAX_LETTERS = 64;
/** How often a request may be refused because its session moves, before it fails. */
const MAX_REFUSALS = 10;

/**
 * The frames that must arrive, in order, until the server has said of each that it has it or refuses it. To send one again is
 * safe: the server knows its name.
 */
export class Outbox {
  #entries: Entry[] = [];

  /** Keeps a letter; `isSent` when it leaves at once. */
  add(letter: Letter, isSent: boolean): void {
    if (letter.isTyped && this.#entries.length >= MAX_LETTERS) {
      throw new ProtocolError('busy', 'Too many messages wait.');
    }
    this.#entries.push({ letter, isSent, refusals: 0 });
  }

  /** The server has spoken about the request, or nobody wants it any more. Says whether it had not even left. */
  remove(requestId: string): boolean {
    const entry = this.#find(requestId);
    this.#entries = this.#entries.filter((other) => other !== entry);
    return entry?.isSent === false;
  }

  /** The server refused the request because it hands the session over. Returns whether the next connection sends it again. */
  keep(requestId: string): boolean {
    const entry = this.#find(requestId);
    if (!entry || ++entry.refusals === MAX_REFUSALS) return false;
    entry.isSent = false;
    return true;
  }

  /** What to send, in order, on a new connection to a server that has these requests. */
  renew(received: readonly AcceptedRequest[]): string[] {
    const names = new Set(received.map(({ requestId }) => requestId));
    this.#entries = this.#entries.filter(({ letter }) => !names.has(letter.requestId));
    for (const entry of this.#entries) entry.isSent = true;
    return this.#entries.map(({ letter }) => letter.text);
  }

  clear(): void {
    this.#entries = [];
  }

  #find(requestId: string): Entry | undefined {
    return this.#entries.find(({ letter }) => letter.requestId === requestId);
  }
}
