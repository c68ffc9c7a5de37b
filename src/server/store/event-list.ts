import type { Event } from '@google/adk';

/**
 * Puts events into a list that others may change too, each in the place of the one with its id or at the end, without
 * searching the whole list every time.
 */
export class EventList {
  readonly events: Event[];
  /** The places of the events after the first `#shared`. */
  #places = new Map<string, number>();
  /** The list that the first events were copied from; its places are good for them. */
  #origin: EventList | null;
  #shared: number;
  #counted: number;
  #last: Event | undefined;

  /** With an origin, `events` has to be a copy of the origin's events. */
  constructor(events: Event[], origin: EventList | null = null) {
    this.events = events;
    this.#origin = origin;
    this.#shared = origin === null ? 0 : events.length;
    this.#counted = this.#shared;
    this.#last = events[this.#counted - 1];
  }

  put(event: Event): void {
    const place = this.#placeOf(event.id);
    if (place === undefined) this.events.push(event);
    else this.events[place] = event;
    this.#count();
  }

  #placeOf(id: string): number | undefined {
    this.#count();
    const place = this.#places.get(id) ?? this.#placeInOrigin(id);
    if (place === undefined || this.events[place]?.id === id) return place;
    this.#startOver();
    this.#count();
    return this.#places.get(id);
  }

  #placeInOrigin(id: string): number | undefined {
    if (this.#origin === null) return undefined;
    const place = this.#origin.#placeOf(id);
    return place !== undefined && place < this.#shared ? place : undefined;
  }

  /** ADK's context compactors push to the list and splice it: what was counted has to be there still. */
  #count(): void {
    if (this.#counted > 0 && this.events[this.#counted - 1] !== this.#last) this.#startOver();
    for (; this.#counted < this.events.length; this.#counted++) {
      const event = this.events[this.#counted];
      // Of two with one id the first counts, as in ADK's own search.
      if (event !== undefined && !this.#places.has(event.id)) this.#places.set(event.id, this.#counted);
    }
    this.#last = this.events[this.#counted - 1];
  }

  #startOver(): void {
    this.#places = new Map();
    this.#origin = null;
    this.#shared = 0;
    this.#counted = 0;
  }
}
