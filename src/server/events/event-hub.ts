import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { OutboxEvent, SessionKey } from '../store/store.ts';
import {
  EVENT_NAMES,
  type ServerEvent,
  type ServerEventFields,
  type ServerEventName,
  type ServerEventOf,
} from './server-events.ts';

/** A function that gets the events with one name. Its result is not used, and the server does not wait for a promise that it returns. */
export type EventListener<Name extends ServerEventName> = (event: ServerEventOf<Name>) => unknown;

/** An event about a change, before the change is stored. The write of the change also stores `outbox`. If that write succeeds, the caller calls `happened`. */
export interface PreparedEvent {
  /** A copy of the event for each subscription that gets it; undefined when no subscription gets it. */
  readonly outbox: readonly OutboxEvent[] | undefined;
  /** Calls the listeners of this process, and starts the deliveries to subscriptions. */
  happened(): void;
}

/** Prepares events. `prepare` returns null when no listener and no subscription gets the event. */
export interface EventSource {
  /** Whether there is no listener and no subscription at all, so that callers need not call `prepare`. */
  readonly isIdle: boolean;
  prepare<Name extends ServerEventName>(
    name: Name,
    key: SessionKey,
    fields: ServerEventFields[Name],
  ): PreparedEvent | null;
}

/** An event source without listeners and subscriptions. */
export const noEvents: EventSource = { isIdle: true, prepare: () => null };

/** A subscription. The store keeps each event with one of its `names` until the event is delivered. */
export interface EventSubscriber {
  readonly subscription: string;
  readonly names: ReadonlySet<ServerEventName>;
  /** Call it when the store has new events for this subscription. */
  wake(): void;
}

/**
 * Passes the events of this process to its listeners, and prepares those that the store keeps for subscriptions. Each listener is called in its own microtask,
 * after the code that reported the event. An error of a listener is logged, and has no other effect.
 */
export class EventHub implements EventSource {
  isIdle = true;
  readonly #appName: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #listeners = new Map<ServerEventName, Set<EventListener<ServerEventName>>>();
  readonly #subscribers = new Set<EventSubscriber>();

  constructor({ appName, clock, logger }: { appName: string; clock: Clock; logger: Logger }) {
    this.#appName = appName;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Adds a listener; the returned function removes it. A listener that was added twice is called twice. */
  on<Name extends ServerEventName>(name: Name, listener: EventListener<Name>): () => void {
    checkName(name);
    if (typeof listener !== 'function')
      throw new TypeError(`on('${name}') needs a function as its listener.`);
    const own: EventListener<ServerEventName> = (event) => listener(event as ServerEventOf<Name>);
    const all = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, all.add(own));
    this.isIdle = false;
    return () => {
      all.delete(own);
      this.#rest();
    };
  }

  /** Adds a subscription; the returned function removes it. */
  add(subscriber: EventSubscriber): () => void {
    if ([...this.#subscribers].some(({ subscription }) => subscription === subscriber.subscription))
      throw new TypeError(`There is a subscription "${subscriber.subscription}" already.`);
    this.#subscribers.add(subscriber);
    this.isIdle = false;
    return () => {
      this.#subscribers.delete(subscriber);
      this.#rest();
    };
  }

  prepare<Name extends ServerEventName>(
    name: Name,
    key: SessionKey,
    fields: ServerEventFields[Name],
  ): PreparedEvent | null {
    const listeners = this.#listeners.get(name);
    const subscribers = [...this.#subscribers].filter(({ names }) => names.has(name));
    // Sessions of agents that are used as tools have another app name. The application gets no events of them.
    if ((!listeners?.size && subscribers.length === 0) || key.app !== this.#appName) return null;
    const session = Object.freeze({ user: key.user, id: key.id });
    const event = Object.freeze({
      ...{ name, id: randomUUID(), at: this.#clock.now(), session },
      ...fields,
    }) as unknown as ServerEvent;
    const data = subscribers.length > 0 ? JSON.stringify(event) : '';
    return {
      outbox:
        subscribers.length > 0
          ? subscribers.map(({ subscription }) => ({ subscription, id: event.id, data }))
          : undefined,
      happened: () => {
        for (const listener of listeners ?? []) queueMicrotask(() => this.#tell(listener, event));
        for (const subscriber of subscribers) subscriber.wake();
      },
    };
  }

  #rest(): void {
    const isHeard = [...this.#listeners.values()].some((all) => all.size > 0);
    this.isIdle = !isHeard && this.#subscribers.size === 0;
  }

  #tell(listener: EventListener<ServerEventName>, event: ServerEvent): void {
    const failed = (error: unknown) =>
      this.#logger.warn('a listener of the application failed: the conversation continues', {
        ...{ event: event.name, session: event.session.id, error: String(error) },
      });
    try {
      Promise.resolve(listener(event)).catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}

/** Throws when there is no event with this name. */
export function checkName(name: unknown): asserts name is ServerEventName {
  if (EVENT_NAMES.includes(name as ServerEventName)) return;
  throw new TypeError(`There is no event "${String(name)}". There are: ${EVENT_NAMES.join(', ')}.`);
}
