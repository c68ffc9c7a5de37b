import type { TrackedCall } from './call-tracker.ts';
import type { Responses } from './responses.ts';

/** Who has the floor, and which calls of browser tools are for this page to run. */
export class Floor {
  /** Whether this page has the floor. */
  isHere = true;
  /** The connection of this page, once it has one. */
  connectionId: string | null = null;
  /** The connection that has the floor; null when it is free. */
  #holder: string | null | undefined;
  /** The messages that this page asked for, or answers in, and the calls that it answered: over HTTP browser tools of theirs run here. */
  readonly #own = new Set<string>();
  /** Calls that were due when the floor was taken: whoever had it until then goes on with them. */
  readonly #elsewhere = new Set<string>();
  readonly #isPosting: boolean;
  readonly #calls: Responses['calls'];

  constructor(isPosting: boolean, calls: Responses['calls']) {
    this.#isPosting = isPosting;
    this.#calls = calls;
  }

  /** This page asked for a message, or answers a call in it. */
  claim(...ids: string[]): void {
    for (const id of ids) this.#own.add(id);
  }

  /** Whether a call of a browser tool runs on this page; one that asks does where the person approved it. */
  runs({ id, asks, messageId, confirmation = id }: TrackedCall): boolean {
    const isOwn = !this.#isPosting || this.#own.has(asks ? confirmation : messageId);
    return isOwn && this.isHere && !this.#elsewhere.has(id);
  }

  /** The floor goes to a connection, or is free; `own`: what this page is called from now on. */
  move(to: string | null | undefined, own = this.connectionId): void {
    // Whoever left runs nothing any more; one that it is taken from goes on.
    if (this.#holder && this.#holder !== to && to === this.connectionId) {
      const due = this.#calls.open().filter((call) => this.#calls.isDue(call));
      for (const { id, confirmation = id } of due) if (!this.#own.has(confirmation)) this.#elsewhere.add(id);
    }
    this.#holder = to;
    this.connectionId = own;
    // Whoever posts has no connection that could have the floor; and a server that knows none has one connection a session.
    this.isHere = to === undefined || to === own || (to === null && this.#isPosting);
  }
}
