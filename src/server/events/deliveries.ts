import { type Clock, settlesWithin } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { ClaimedEvents, Store } from '../store/store.ts';
import type { EventSubscriber } from './event-hub.ts';
import type { ServerEvent, ServerEventName } from './server-events.ts';

/** The second argument of `deliver`. */
export interface DeliveryInfo {
  /** The number of this attempt to deliver the event, from 1 on. An attempt that ended with its server counts, even if it did not call `deliver`. */
  attempt: number;
  /**
   * Aborts when the delivery takes longer than `timeoutMs`, when the server closes, or when this node has lost its claim on the event, so that another
   * node may deliver it.
   */
  signal: AbortSignal;
}

/** How events are delivered to a subscription. */
export interface DeliveryOptions {
  /** The name of the subscription, under which the store keeps its events, also over a restart. */
  name: string;
  events: ReadonlySet<ServerEventName>;
  /** Delivers an event. The event is delivered when the function returns, or when its promise resolves. */
  deliver: (event: ServerEvent, info: DeliveryInfo) => unknown;
  timeoutMs: number;
  keepForMs: number;
  maxEvents: number;
}

/** The objects of the server that `Deliveries` uses. */
export interface DeliveryContext {
  store: Store;
  appName: string;
  clock: Clock;
  logger: Logger;
}

/** How long a claim lasts unless it is renewed. */
const LEASE_MS = 30_000;
/** The time between two renewals of a claim. */
const RENEW_MS = 10_000;
/** How often the store is asked for events of dead nodes, and for events whose next attempt is due. */
const POLL_MS = 5000;
const TRIM_MS = 60_000;
/** The largest number of sessions whose events are delivered at the same time. */
const QUEUES = 8;
/** The largest number of events of a session that are claimed at once. */
const EVENTS = 32;
const MIN_RETRY_MS = 1000;
const MAX_RETRY_MS = 10 * 60_000;
/** How long `close` waits for deliveries that do not end when their signal aborts. */
const END_MS = 2000;

/**
 * Delivers the events of a subscription from the store: those of a session one after the other, in order. Every node with the subscription has such an object.
 * Before it delivers events it claims them in the store, so that no other node delivers them too. The claim ends by itself when its node dies.
 */
export class Deliveries implements EventSubscriber {
  readonly subscription: string;
  readonly names: ReadonlySet<ServerEventName>;
  readonly #options: DeliveryOptions;
  readonly #context: DeliveryContext;
  readonly #running = new Map<Promise<void>, AbortController>();
  /** Settles when the running request to claim events is done; null when no such request runs. */
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

  /** Claims events and starts to deliver them. Call it when events were stored, or when their next attempt is due. */
  wake(): void {
    this.#isWoken = true;
    if (this.#claiming || this.#isClosed) return;
    this.#claiming = this.#claim().finally(() => {
      this.#claiming = null;
      if (this.#isWoken) this.wake();
    });
  }

  /** Stops claiming, aborts the running deliveries, and ends their claims, so that another node delivers the events at once. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelPoll();
    await this.#claiming;
    for (const controller of this.#running.values()) controller.abort();
    await settlesWithin(Promise.all(this.#running.keys()), END_MS, this.#context.clock);
  }

  /** Claims the events that are due, of at most `QUEUES` sessions at a time, and starts to deliver them. Then plans the next poll of the store. */
  async #claim(): Promise<void> {
    const { store, appName, clock } = this.#context;
    this.#cancelPoll();
    this.#isWoken = false;
    try {
      await this.#trim();
      do {
        this.#isWoken = false;
        const free = QUEUES - this.#running.size;
        // When `free` is 0, the end of a running delivery calls `wake`.
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
      // The store failed. The claim ends by itself, and then the events are claimed and delivered again.
      .catch((error: unknown) => this.#storeFailed(error))
      .then(() => {
        this.#running.delete(delivery);
        this.wake();
      });
    this.#running.set(delivery, controller);
  }

  /** Delivers claimed events in order, up to the first event whose delivery fails. */
  async #deliverAll(claimed: ClaimedEvents, controller: AbortController): Promise<void> {
    const { store } = this.#context;
    let attempt = claimed.attempts;
    const stopRenewing = this.#renew(claimed, controller);
    try {
      for (const { id, data } of claimed.events) {
        // A delivery that is aborted because the server closes is not a failed attempt, so another node may deliver the event at once.
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

  /** Renews a claim while its events are delivered. When the claim has ended, another node may deliver the events, so the delivery is aborted. */
  #renew(claimed: ClaimedEvents, controller: AbortController): () => void {
    const { store, clock } = this.#context;
    let isOver = false;
    let cancel: () => void = () => undefined;
    // Each renewal starts after the one before has ended, so that a slow store does not get more and more renewals at once.
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

  /** Delivers one event. Returns the error of the attempt; null when the event is delivered. */
  async #deliver(event: ServerEvent, attempt: number, controller: AbortController): Promise<unknown> {
    const { clock } = this.#context;
    const { deliver, timeoutMs } = this.#options;
    const late = new AbortController();
    const signal = AbortSignal.any([controller.signal, late.signal]);
    const aborted = new Promise<unknown>((resolve) => {
      signal.addEventListener('abort', () => resolve(signal.reason), { once: true });
      if (signal.aborted) resolve(signal.reason);
    });
    const cancel = clock.after(timeoutMs, () =>
      late.abort(new Error(`the function "deliver" took longer than ${timeoutMs} ms`)),
    );
    const delivered = Promise.resolve()
      .then(() => deliver(event, { attempt, signal }))
      .then(
        () => null,
        (error: unknown) => error ?? new Error('the function "deliver" failed without an error'),
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
      logger.error(
        'events of a subscription were discarded: they were older than keepForMs, or more than maxEvents waited',
        {
          ...{ subscription: this.subscription, count },
        },
      );
  }
}
