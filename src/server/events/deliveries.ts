import { type Clock, settlesWithin } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { ClaimedEvents, Store } from '../store/store.ts';
import type { EventSubscriber } from './event-hub.ts';
import type { ServerEvent, ServerEventName } from './server-events.ts';

/** What a delivery gets beside its event. */
export interface DeliveryInfo {
  /** How often this event was tried, this time included: 1 at first. */
  attempt: number;
  /** Aborts when the delivery takes longer than `timeoutMs`, when another node has taken it over, and when the server closes. */
  signal: AbortSignal;
}

/** How events are delivered to a subscription. */
export interface DeliveryOptions {
  /** The name of the subscription. Events that were kept for it before a restart are delivered after it. */
  name: string;
  events: ReadonlySet<ServerEventName>;
  /** Delivers an event: it counts as delivered when this returns, or its promise resolves. */
  deliver: (event: ServerEvent, info: DeliveryInfo) => unknown;
  timeoutMs: number;
  keepForMs: number;
  maxEvents: number;
}

/** What deliveries get from their server. */
export interface DeliveryContext {
  store: Store;
  appName: string;
  clock: Clock;
  logger: Logger;
}

/** How long a claim lasts unless it is renewed, and how often that happens. */
const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** How often the store is asked for events of dead nodes, and for events whose next attempt is due. */
const POLL_MS = 5000;
const TRIM_MS = 60_000;
/** Sessions whose events are delivered at the same time, and events that are claimed of each. */
const QUEUES = 8;
const EVENTS = 32;
const MIN_RETRY_MS = 1000;
const MAX_RETRY_MS = 10 * 60_000;
/** How long `close` waits for deliveries that do not end with their signal. */
const END_MS = 2000;

/**
 * Delivers the events of a subscription from the store: those of a session one after the other, in order. Every node with the subscription does so; a claim in the store keeps two nodes from
 * delivering the same event, and ends by itself when its node dies.
 */
export class Deliveries implements EventSubscriber {
  readonly subscription: string;
  readonly names: ReadonlySet<ServerEventName>;
  readonly #options: DeliveryOptions;
  readonly #context: DeliveryContext;
  readonly #running = new Map<Promise<void>, AbortController>();
  /** The claiming of events, which goes on; null when none does. */
  #claiming: Promise<void> | null = null;
  #isWoken = false;
  #isClosed = false;
  #isFailing = false;
  #trimmedAt = Number.NEGATIVE_INFINITY;
  #cancelPoll: () => void = () => undefined;

  constructor(options: DeliveryOptions, context: DeliveryContext) {
    this.subscription = options.name;
    this.names = options.events;
    this.#options = options;
    this.#context = context;
  }

  /** Events were stored, or may be due: claims them now. */
  wake(): void {
    this.#isWoken = true;
    if (this.#claiming || this.#isClosed) return;
    this.#claiming = this.#claim().finally(() => {
      this.#claiming = null;
      if (this.#isWoken) this.wake();
    });
  }

  /** Claims nothing more, aborts the deliveries that go on, and ends their claims, so that another node continues at once. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelPoll();
    await this.#claiming;
    for (const controller of this.#running.values()) controller.abort();
    await settlesWithin(Promise.all(this.#running.keys()), END_MS, this.#context.clock);
  }

  /** Claims events until none is due, or enough are being delivered. */
  async #claim(): Promise<void> {
    const { store, appName, clock } = this.#context;
    this.#cancelPoll();
    this.#isWoken = false;
    try {
      await this.#trim();
      do {
        this.#isWoken = false;
        const free = QUEUES - this.#running.size;
        // The end of a delivery wakes again.
        if (free === 0 || this.#isClosed) break;
        const request = { leaseMs: LEASE_MS, queues: free, events: EVENTS };
        const claimed = await store.claimEvents(appName, this.subscription, request);
        for (const one of claimed) this.#start(one);
        this.#isFailing = false;
      } while (this.#isWoken);
    } catch (error) {
      this.#storeFailed(error);
    }
    if (!this.#isClosed) this.#cancelPoll = clock.after(POLL_MS, () => this.wake());
  }

  #storeFailed(error: unknown): void {
    const { logger } = this.#context;
    if (!this.#isFailing && !this.#isClosed)
      logger.error('events of a subscription wait: the store cannot be used; check the store', {
        ...{ subscription: this.subscription, error: String(error) },
      });
    this.#isFailing = true;
  }

  #start(claimed: ClaimedEvents): void {
    const controller = new AbortController();
    const delivery = this.#deliverAll(claimed, controller)
      // The claim ends by itself, and the events are delivered again.
      .catch((error: unknown) => this.#storeFailed(error))
      .then(() => {
        this.#running.delete(delivery);
        this.wake();
      });
    this.#running.set(delivery, controller);
  }

  /** Delivers claimed events in order, up to one that fails. */
  async #deliverAll(claimed: ClaimedEvents, controller: AbortController): Promise<void> {
    const { store } = this.#context;
    let attempt = claimed.attempts;
    const stopRenewing = this.#renew(claimed, controller);
    try {
      for (const { id, data } of claimed.events) {
        // A delivery that was aborted, as the server closes, is no failure: another node tries at once.
        if (this.#isClosed) break;
        const event = JSON.parse(data) as ServerEvent;
        const error = await this.#deliver(event, attempt, controller);
        if (error !== null && this.#isClosed) break;
        if (error !== null) return await this.#failed(claimed, event, attempt, error);
        if (!(await store.keepClaim(claimed, LEASE_MS, id))) return;
        attempt = 1;
      }
      await store.endClaim(claimed);
    } finally {
      stopRenewing();
    }
  }

  /** Renews a claim while its events are delivered. When another node has taken them over, the delivery is aborted. */
  #renew(claimed: ClaimedEvents, controller: AbortController): () => void {
    const { store, clock } = this.#context;
    let isOver = false;
    let cancel: () => void = () => undefined;
    // The next renewal waits for this one, so that a slow store does not get ever more of them.
    const later = (isKept = true): void => {
      if (!isKept) controller.abort();
      else if (!isOver)
        cancel = clock.after(RENEW_MS, () => store.keepClaim(claimed, LEASE_MS).then(later, () => later()));
    };
    later();
    return () => {
      isOver = true;
      cancel();
    };
  }

  /** Delivers one event. Returns what went wrong; null when it is delivered. */
  async #deliver(event: ServerEvent, attempt: number, controller: AbortController): Promise<unknown> {
    const { clock } = this.#context;
    const { deliver, timeoutMs } = this.#options;
    const late = new AbortController();
    const signal = AbortSignal.any([controller.signal, late.signal]);
    const aborted = new Promise<unknown>((resolve) => {
      signal.addEventListener('abort', () => resolve(signal.reason), { once: true });
      if (signal.aborted) resolve(signal.reason);
    });
    const cancel = clock.after(timeoutMs, () => late.abort(new Error(`it took longer than ${timeoutMs} ms`)));
    const delivered = Promise.resolve()
      .then(() => deliver(event, { attempt, signal }))
      .then(
        () => null,
        (error: unknown) => error ?? new Error('it failed without an error'),
      );
    try {
      return await Promise.race([delivered, aborted]);
    } finally {
      cancel();
    }
  }

  async #failed(claimed: ClaimedEvents, event: ServerEvent, attempt: number, error: unknown): Promise<void> {
    const { store, clock, logger } = this.#context;
    const retryMs = Math.min(MIN_RETRY_MS * 2 ** (attempt - 1), MAX_RETRY_MS);
    logger.warn('an event was not delivered: it is tried again, and later events of its session wait', {
      ...{
        subscription: this.subscription,
        event: event.name,
        id: event.id,
        attempt,
        retryMs,
        error: String(error),
      },
    });
    await store.endClaim(claimed, retryMs);
    clock.after(retryMs, () => this.wake());
  }

  /** Removes events that are too old or too many, once a minute. */
  async #trim(): Promise<void> {
    const { store, appName, clock, logger } = this.#context;
    const { keepForMs, maxEvents } = this.#options;
    if (clock.elapsed() - this.#trimmedAt < TRIM_MS) return;
    this.#trimmedAt = clock.elapsed();
    const limits = { before: clock.now() - keepForMs, count: maxEvents };
    const count = await store.trimEvents(appName, this.subscription, limits);
    if (count > 0)
      logger.error('events of a subscription were discarded: they were too old, or too many waited', {
        ...{ subscription: this.subscription, count },
      });
  }
}
