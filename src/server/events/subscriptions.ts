import { Deliveries, type DeliveryContext, type DeliveryInfo } from './deliveries.ts';
import { checkName, type EventHub } from './event-hub.ts';
import type { ServerEvent, ServerEventName } from './server-events.ts';

/** Events that the store keeps until they are delivered. */
export interface EventSubscription<Name extends ServerEventName> {
  /**
   * Names the subscription in the store, so that its events are delivered after a restart and by other nodes. Every node that serves conversations has to have it, from its start on: events are kept only
   * where it is known.
   */
  name: string;
  events: readonly Name[];
  /**
   * Delivers an event. It is delivered when this returns, or its promise resolves; otherwise it is tried again, after a second at first and after ten minutes at most. An event may come more than
   * once, with the same `id`. The events of a session come one after the other, in order.
   */
  deliver: (event: Extract<ServerEvent, { name: Name }>, info: DeliveryInfo) => unknown;
  /** How long a delivery may take, in milliseconds; 60 seconds unless given. After that it counts as failed. */
  timeoutMs?: number;
  /** How long an event is kept and tried, in milliseconds; 3 days unless given. */
  keepForMs?: number;
  /** How many events wait at most, 100,000 unless given. The oldest are discarded. */
  maxEvents?: number;
}

const DAY_MS = 24 * 3600_000;
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

  /** Adds a subscription, and delivers the events that the store has for it. The returned function ends it here: no further event is kept by this process. */
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

/** The subscription as it was given. Throws when a part of it is not valid. */
function checked<Name extends ServerEventName>(given: EventSubscription<Name>): EventSubscription<Name> {
  const { name, events, deliver, ...limits } = given;
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME)
    throw new TypeError(`subscribe needs "name", a text of 1 to ${MAX_NAME} characters.`);
  if (!Array.isArray(events) || events.length === 0)
    throw new TypeError('subscribe needs "events", a list of the names of events.');
  for (const one of events) checkName(one);
  if (typeof deliver !== 'function') throw new TypeError('subscribe needs "deliver", a function.');
  for (const [field, value] of Object.entries(limits)) {
    if (!['timeoutMs', 'keepForMs', 'maxEvents'].includes(field))
      throw new TypeError(`subscribe has no option "${field}".`);
    if (value !== undefined && !(typeof value === 'number' && value > 0))
      throw new TypeError(`subscribe needs "${field}" to be a number above 0.`);
  }
  return given;
}
