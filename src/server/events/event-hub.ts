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

/** Gets each event with a name. What it returns is not used; a promise is not waited for. */
export type EventListener<Name extends ServerEventName> = (event: ServerEventOf<Name>) => unknown;

/** An event that is about to happen: the write of its fact stores `outbox`, and `happened` is called when that write has succeeded. */
export interface PreparedEvent {
  /** What the store keeps for subscriptions; undefined when none wants the event. */
  readonly outbox: readonly OutboxEvent[] | undefined;
  /** Tells the listeners of this process. */
  happened(): void;
}

/** Prepares events. Null when nothing wants the event: then it costs nothing. */
export interface EventSource {
  /** Whether nothing wants any event. */
  readonly isIdle: boolean;
  prepare<Name extends ServerEventName>(
    name: Name,
    key: SessionKey,
    fields: ServerEventFields[Name],
  ): PreparedEvent | null;
}

/** For sessions whose events nothing wants. */
export const noEvents: EventSource = { isIdle: true, prepare: () => null };

/** A subscription: the store keeps each event with one of these names for it until it is delivered. */
export interface EventSubscriber {
  readonly subscription: string;
  readonly names: ReadonlySet<ServerEventName>;
  /** Call it when the store has new events for this subscription. */
  wake(): void;
}

/**
 * Gives the events of this process to its listeners, and says which of them the store keeps for subscriptions. A listener is called after the work that led to the event,
 * in a microtask of its own: what it throws, or rejects with, is logged and changes nothing else.
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

  /** Adds a listener; the returned function removes it. Adding one twice calls it twice. */
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
    // Sessions of agents that are used as tools have the name of another app.
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
