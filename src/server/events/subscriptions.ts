import { Deliveries, type DeliveryContext, type DeliveryInfo } from './deliveries.ts';
import { checkName, type EventHub } from './event-hub.ts';
import type { ServerEvent, ServerEventName } from './server-events.ts';

/** A subscription to events. The store keeps the events until they are delivered. */
export interface EventSubscription<Name extends ServerEventName> {
  /**
   * The name of the subscription in the store, so that its events are delivered also after a restart or by another node. Every node that serves conversations
   * must add the subscription when it starts: events of a node without it are not kept.
   */
  name: string;
  events: readonly Name[];
  /**
   * Delivers an event. The event is delivered when the function returns, or when its promise resolves; otherwise the function is called again, after a second
   * at first and after ten minutes at most. An event may come more than once, with the same `id`. The events of a session come one after the other, in order.
   */
  deliver: (event: Extract<ServerEvent, { name: Name }>, info: DeliveryInfo) => unknown;
  /** How long a delivery may take, in milliseconds, at most one day; 60 seconds unless given. A delivery that takes longer has failed. */
  timeoutMs?: number;
  /** How long the store keeps an event that is not delivered, in milliseconds, at most 366 days; 3 days unless given. */
  keepForMs?: number;
  /** The largest number of events that wait for their delivery, at most 10,000,000; 100,000 unless given. When there are more, the oldest are discarded. */
  maxEvents?: number;
}

const DAY_MS = 24 * 3600_000;
/** The largest values of the limits. Without them a subscription whose deliveries fail would fill the store. */
const LARGEST = { timeoutMs: DAY_MS, keepForMs: 366 * DAY_MS, maxEvents: 10_000_000 } as const;
const MAX_NAME = 128;

/** The subscriptions of this process. */
export class Subscriptions {
  readonly #hub: EventHub;
  readonly #context: DeliveryContext;
  readonly #all = new Set<Deliveries>();

  constructor(hub: EventHub, context: DeliveryContext) {
    this.#hub = hub;
    this.#context = context;
  }

  /** Adds a subscription, and delivers the events that the store has for it. The returned function removes it: this process keeps no further events for it. */
  subscribe<Name extends ServerEventName>(subscription: EventSubscription<Name>): () => Promise<void> {
    const { name, events, deliver, ...limits } = checked(subscription);
    const deliveries = new Deliveries(
      {
        name,
        events: new Set<ServerEventName>(events),
        deliver: (event: ServerEvent, info) => deliver(event as Extract<ServerEvent, { name: Name }>, info),
        timeoutMs: limits.timeoutMs ?? 60_000,
        keepForMs: limits.keepForMs ?? 3 * DAY_MS,
        maxEvents: limits.maxEvents ?? 100_000,
      },
      this.#context,
    );
    const remove = this.#hub.add(deliveries);
    this.#all.add(deliveries);
    deliveries.wake();
    return () => {
      remove();
      this.#all.delete(deliveries);
      return deliveries.close();
    };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all].map((deliveries) => deliveries.close()));
  }
}

/** Returns the subscription that the application gave. Throws when a field of it is not valid. */
function checked<Name extends ServerEventName>(given: EventSubscription<Name>): EventSubscription<Name> {
  const { name, events, deliver, ...limits } = given;
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME)
    throw new TypeError(`subscribe needs "name", a text of 1 to ${MAX_NAME} characters.`);
  if (!Array.isArray(events) || events.length === 0)
    throw new TypeError('subscribe needs "events", a list of the names of events.');
  for (const one of events) checkName(one);
  if (typeof deliver !== 'function') throw new TypeError('subscribe needs "deliver", a function.');
  for (const [field, value] of Object.entries(limits)) {
    if (!Object.hasOwn(LARGEST, field)) throw new TypeError(`subscribe has no option "${field}".`);
    const largest = LARGEST[field as keyof typeof LARGEST];
    if (value === undefined || (Number.isInteger(value) && value > 0 && value <= largest)) continue;
    throw new TypeError(`subscribe needs "${field}" to be a whole number from 1 to ${largest}.`);
  }
  return given;
}
