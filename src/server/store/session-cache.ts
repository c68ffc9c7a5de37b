import type { Event } from '@google/adk';
import type { EventList } from './event-list.ts';
import { nameOf } from './rules.ts';
import { applyDelta, type StateRecord } from './state.ts';
import type { HistoryLimits, OwnedKey, SessionKey } from './store.ts';

/** What the store holds of a session, ready for use. */
export interface CachedSession {
  /** With the fence of the owner it was read for: another one may have written since. */
  key: OwnedKey;
  /** As the store has it: nothing that a turn has not committed. */
  state: StateRecord;
  list: EventList;
  /** Whether the history has events before those of the list. */
  hasOlder: boolean;
  lastUpdateTime: number;
}

/** How much is kept ready: sessions, characters in their events, and how much of the history of each. */
export interface CacheLimits {
  sessions: number;
  characters: number;
  history: HistoryLimits;
}

interface Held {
  session: CachedSession;
  size: number;
}

/** The sessions used last, up to the limits. */
export class SessionCache {
  readonly #limits: CacheLimits;
  readonly #held = new Map<string, Held>();
  #size = 0;

  constructor(limits: CacheLimits) {
    this.#limits = limits;
  }

  get(key: OwnedKey): CachedSession | undefined {
    const name = nameOf(key);
    const held = this.#held.get(name);
    if (held?.session.key.fence !== key.fence) return undefined;
    this.#held.delete(name);
    this.#held.set(name, held);
    return held.session;
  }

  add(session: CachedSession): void {
    this.remove(session.key);
    const held: Held = { session, size: 0 };
    this.#held.set(nameOf(session.key), held);
    this.#grow(held, session.list.events);
  }

  /** What is here of a session is its next owner's. */
  handOn(key: OwnedKey): void {
    const held = this.#held.get(nameOf(key));
    if (held !== undefined) held.session = { ...held.session, key };
  }

  remove(key: SessionKey): void {
    const held = this.#held.get(nameOf(key));
    if (held === undefined) return;
    this.#size -= held.size;
    this.#held.delete(nameOf(key));
  }

  /** Adds an event that the store has taken, if the session is here. */
  append(key: SessionKey, event: Event): void {
    const held = this.#held.get(nameOf(key));
    if (held === undefined) return;
    held.session.list.put(event);
    held.session.lastUpdateTime = event.timestamp;
    this.#grow(held, [event]);
    const { events, bytes } = this.#limits.history;
    // It is read again, without its oldest events.
    if (held.session.list.events.length > events || held.size > bytes) this.remove(key);
  }

  /** Applies a state delta that the store has taken to every session here that `reaches` picks. */
  change(delta: Record<string, unknown>, reaches: (key: SessionKey) => boolean): void {
    for (const { session } of this.#held.values()) if (reaches(session.key)) applyDelta(session.state, delta);
  }

  #grow(held: Held, events: readonly Event[]): void {
    for (const event of events) held.size += sizeOf(event);
    for (const event of events) this.#size += sizeOf(event);
    for (const [name, oldest] of this.#held) {
      if (this.#held.size <= this.#limits.sessions && this.#size <= this.#limits.characters) return;
      this.#size -= oldest.size;
      this.#held.delete(name);
    }
  }
}

/** Roughly what an event takes in memory. */
function sizeOf(event: Event): number {
  return 500 + charactersIn(event.content);
}

function charactersIn(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let sum = 0;
  for (const each of Object.values(value)) sum += charactersIn(each);
  return sum;
}
