import { type AcceptedRequest, MAX_REQUESTS } from '../store.ts';

/** The requests of one session that were accepted last. */
export class HeldRequests {
  readonly #requests = new Map<string, AcceptedRequest>();

  add(accepted: AcceptedRequest): void {
    this.#requests.delete(accepted.requestId);
    this.#requests.set(accepted.requestId, { ...accepted });
    const [oldest] = this.#requests.keys();
    if (this.#requests.size > MAX_REQUESTS && oldest !== undefined) this.#requests.delete(oldest);
  }

  all(): AcceptedRequest[] {
    return [...this.#requests.values()].map((accepted) => ({ ...accepted }));
  }
}
