import { createEvent, type Event, getFunctionCalls, getFunctionResponses } from '@google/adk';
import { afterOlderRewind } from '../../adk/for-server.ts';
import { applyDelta, asStored, emptyState, hasKeys, nameOf, prefixes, type StateRecord } from './rules.ts';
import {
  type CallRecord,
  type HistoryLimits,
  type NewSession,
  type OwnedKey,
  type SessionKey,
  type SharedStore,
  StaleFence,
  type Store,
  type StoredSession,
} from './store.ts';

/**
 * A list of ADK events, and an index of their ids, which avoids a search of the whole list when an event is added. Other code, such as ADK's context
 * compactors, may change the array `events` too.
 */
export class EventList {
  readonly events: Event[];
  /** The index in the list of each event by its id, for the events after the first `#shared`. */
  #places = new Map<string, number>();
  /** The list from which the first `#shared` events were copied, and whose index is used for them; null for a list that is not a copy. */
  #origin: EventList | null;
  #shared: number;
  /** How many events of the list are in an index: in `#places`, or in the index of `#origin`. */
  #indexed: number;
  /** The last indexed event. If the list no longer has it at its place, other code has removed events from the list. */
  #last: Event | undefined;

  /** With an origin, `events` must be a copy of the origin's events. */
  constructor(events: Event[], origin: EventList | null = null) {
    this.events = events;
    this.#origin = origin;
    this.#shared = origin === null ? 0 : events.length;
    this.#indexed = this.#shared;
    this.#last = events[this.#indexed - 1];
  }

  /** Replaces the event with the same id, or adds the event at the end. */
  put(event: Event): void {
    const place = this.#placeOf(event.id);
    if (place === undefined) this.events.push(event);
    else this.events[place] = event;
    this.#index();
  }

  #placeOf(id: string): number | undefined {
    this.#index();
    const place = this.#places.get(id) ?? this.#placeInOrigin(id);
    if (place === undefined || this.events[place]?.id === id) return place;
    this.#startOver();
    this.#index();
    return this.#places.get(id);
  }

  #placeInOrigin(id: string): number | undefined {
    if (this.#origin === null) return undefined;
    const place = this.#origin.#placeOf(id);
    return place !== undefined && place < this.#shared ? place : undefined;
  }

  /**
   * Indexes the events that were added since the last call. It indexes all events again when the last indexed event is no longer at its place: ADK's context
   * compactors push to the array and splice it.
   */
  #index(): void {
    if (this.#indexed > 0 && this.events[this.#indexed - 1] !== this.#last) this.#startOver();
    for (; this.#indexed < this.events.length; this.#indexed++) {
      const event = this.events[this.#indexed];
      // If two events have the same id, the index has the first, which ADK's own search would find too.
      if (event !== undefined && !this.#places.has(event.id)) this.#places.set(event.id, this.#indexed);
    }
    this.#last = this.events[this.#indexed - 1];
  }

  #startOver(): void {
    this.#places = new Map();
    this.#origin = null;
    this.#shared = 0;
    this.#indexed = 0;
  }
}

/** A copy of a stored session, in memory. */
export interface CachedSession {
  /** The key with the fence of the owner for whom the session was read. A later owner may have changed the session since. */
  key: OwnedKey;
  /** The stored state, without changes that a turn has not stored yet. */
  state: StateRecord;
  list: EventList;
  /** Whether the history has events before those of the list. */
  hasOlder: boolean;
  lastUpdateTime: number;
}

/** The limits of the cache: the number of sessions, the characters in their events, and how much of the history of each session is cached. */
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

  remove(key: SessionKey): void {
    const held = this.#held.get(nameOf(key));
    if (held === undefined) return;
    this.#size -= held.size;
    this.#held.delete(nameOf(key));
  }

  /** Adds a stored event to a session, if the session is cached. */
  append(key: SessionKey, event: Event): void {
    const held = this.#held.get(nameOf(key));
    if (held === undefined) return;
    held.session.list.put(event);
    held.session.lastUpdateTime = event.timestamp;
    this.#grow(held, [event]);
    const { events, bytes } = this.#limits.history;
    // The session is read again at its next use, without its oldest events.
    if (held.session.list.events.length > events || held.size > bytes) this.remove(key);
  }

  /** Applies a stored state delta to every cached session that `reaches` selects. */
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

/** The approximate size of an event in memory, in characters. */
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

/** The model reads this text in place of the messages that are too old to be loaded. */
const OMITTED = '[Earlier messages are omitted.]';

/**
 * Makes a valid history from the newest events of a long one. The result begins with a user message, if one is among these events, and has no rewound events.
 * For calls in `recorded` (open calls, and those of `answeredLate`) whose events are too old, new events are made from their records and come first.
 * Responses to other calls whose events are too old are left out.
 */
export function windowOf(newest: readonly Event[], recorded: readonly CallRecord[]): Event[] {
  const kept = keptOf(newest);
  const made = callsIn(kept);
  const missing = recorded.filter(({ id }) => !made.has(id));
  for (const { id } of missing) made.add(id);
  const whole = kept.flatMap((event) => withoutAnswers(event, (id) => id === undefined || made.has(id)));
  return missing.length === 0 ? whole : [omission(), ...missing.map(callEvent), ...whole];
}

/** The ids of calls whose responses are in the window, but not the events with the calls: a user may have answered these calls much later. */
function answeredLate(newest: readonly Event[]): string[] {
  const kept = keptOf(newest);
  const made = callsIn(kept);
  const answered = kept.flatMap((event) => getFunctionResponses(event).flatMap(({ id }) => id ?? []));
  return [...new Set(answered)].filter((id) => !made.has(id));
}

function keptOf(newest: readonly Event[]): readonly Event[] {
  return fromUserMessage(afterOlderRewind(newest));
}

function callsIn(events: readonly Event[]): Set<string | undefined> {
  return new Set(events.flatMap((event) => getFunctionCalls(event).map(({ id }) => id)));
}

/** The events from the first user message on; all events when no event is a user message. */
function fromUserMessage(events: readonly Event[]): readonly Event[] {
  const first = events.findIndex(
    (event) => event.author === 'user' && event.content?.parts?.some((part) => !part.functionResponse),
  );
  return first === -1 ? events : events.slice(first);
}

/** Returns the event without the responses to unknown calls; an empty list when it has no other content. */
function withoutAnswers(event: Event, isKnown: (callId: string | undefined) => boolean): Event[] {
  if (getFunctionResponses(event).every(({ id }) => isKnown(id))) return [event];
  const parts = event.content?.parts?.filter(
    ({ functionResponse }) => !functionResponse || isKnown(functionResponse.id),
  );
  return parts?.length ? [{ ...event, content: { ...event.content, parts } }] : [];
}

function omission(): Event {
  return createEvent({ author: 'user', content: { role: 'user', parts: [{ text: OMITTED }] } });
}

/** Rebuilds the event with a call from the record of the call. */
function callEvent({ id, toolName: name, args, agent, invocationId, branch, issuedAt }: CallRecord): Event {
  return createEvent({
    author: agent,
    invocationId,
    ...(branch === null ? {} : { branch }),
    timestamp: issuedAt,
    longRunningToolIds: [id],
    content: { role: 'model', parts: [{ functionCall: { id, name, args } }] },
  });
}

/**
 * Reads sessions from the store, and caches those used last, so that a turn starts without reading the history. Code that writes events or state to the store
 * must call `appended`, `changed` or `forget` after the write. The result of a read is not cached if one of them was called during the read.
 */
export class ReadySessions {
  readonly #store: Store;
  readonly #shared: SharedStore | null;
  readonly #cache: SessionCache;
  readonly #window: HistoryLimits;
  /** Reads in progress. */
  readonly #reads = new Set<{ key: SessionKey; overtaken: boolean }>();

  /** `shared`: the same store, if other nodes write to it too; otherwise null. */
  constructor(store: Store, limits: CacheLimits, shared: SharedStore | null) {
    this.#store = store;
    this.#shared = shared;
    this.#cache = new SessionCache(limits);
    // Read only 75% of the limits, so that the cached session can grow: otherwise every new event would exceed the limits and cause another read.
    const { events, bytes } = limits.history;
    this.#window = { events: Math.ceil(events * 0.75), bytes: Math.ceil(bytes * 0.75) };
  }

  /** Caches the session that `creation` resolves with, for its first owner, and returns its key. */
  async create(key: SessionKey, creation: Promise<NewSession>): Promise<OwnedKey> {
    const { result: created, overtaken } = await this.#reading(key, creation);
    if (overtaken) this.#cache.remove(key);
    else this.#cache.add(cached(created.key, created.session));
    return created.key;
  }

  /**
   * The session with its newest events; null when it does not exist. The app and user state of a cached session may be outdated, if another node has changed
   * it.
   */
  async get(key: OwnedKey): Promise<CachedSession | null> {
    return this.#cache.get(key) ?? (await this.read(key));
  }

  /** Like `get`, but with the newest app and user state. Throws `StaleFence` when another process owns a session that is cached here. */
  async getCurrent(key: OwnedKey): Promise<CachedSession | null> {
    const ready = this.#cache.get(key);
    if (!ready || !this.#shared) return this.get(key);
    const { result: state, overtaken } = await this.#reading(key, this.#shared.sharedState(key));
    if (state === null) {
      if ((await this.read(key)) === null) return null;
      throw new StaleFence(key);
    }
    if (overtaken) return this.read(key);
    for (const name of Object.keys(ready.state)) if (isShared(name)) delete ready.state[name];
    applyDelta(ready.state, state);
    return ready;
  }

  /** The session, read from the store even if it is cached. */
  async read(key: OwnedKey): Promise<CachedSession | null> {
    const { result: stored, overtaken } = await this.#reading(key, this.#load(key));
    if (stored === null) return null;
    const session = cached(key, stored);
    if (!overtaken) this.#cache.add(session);
    return session;
  }

  /** Call it after an event was stored. */
  appended(key: SessionKey, event: Event): void {
    this.#overtakeReads((other) => isSame(other, key));
    this.#cache.append(key, event);
    this.changed(key, event.actions?.stateDelta ?? {});
  }

  /** Call it after a state delta was stored. Applies the delta to the cached sessions that it concerns: those of the app, those of the user, or this session. */
  changed(key: SessionKey, delta: Record<string, unknown>): void {
    if (!hasKeys(delta)) return;
    const parts = { app: emptyState(), user: emptyState(), session: emptyState() };
    for (const [name, value] of Object.entries(asStored(delta))) {
      if (name.startsWith(prefixes.app)) parts.app[name] = value;
      else if (name.startsWith(prefixes.user)) parts.user[name] = value;
      else parts.session[name] = value;
    }
    this.#change(parts.app, (other) => other.app === key.app);
    this.#change(parts.user, (other) => other.app === key.app && other.user === key.user);
    this.#change(parts.session, (other) => isSame(other, key));
  }

  /** Removes the session from the cache, so that its next use reads the store. */
  forget(key: SessionKey): void {
    this.#overtakeReads((other) => isSame(other, key));
    this.#cache.remove(key);
  }

  /** The session with the newest part of its history. */
  async #load(key: SessionKey): Promise<StoredSession | null> {
    const stored = await this.#store.loadSession(key, this.#window);
    if (!stored?.hasOlder) return stored;
    const recorded = await this.#store.openCalls(key);
    const known = new Set(recorded.map(({ id }) => id));
    for (const id of answeredLate(stored.events)) {
      const call = known.has(id) ? null : await this.#store.findCall(key, { id });
      if (call) recorded.push(call);
    }
    return { ...stored, events: windowOf(stored.events, recorded) };
  }

  /** Returns the result of a read, and whether a write was reported during the read. */
  async #reading<T>(key: SessionKey, read: Promise<T>): Promise<{ result: T; overtaken: boolean }> {
    const reading = { key, overtaken: false };
    this.#reads.add(reading);
    try {
      const result = await read;
      return { result, overtaken: reading.overtaken };
    } finally {
      this.#reads.delete(reading);
    }
  }

  #change(delta: StateRecord, reaches: (key: SessionKey) => boolean): void {
    if (!hasKeys(delta)) return;
    this.#cache.change(delta, reaches);
    this.#overtakeReads(reaches);
  }

  #overtakeReads(reaches: (key: SessionKey) => boolean): void {
    for (const reading of this.#reads) if (reaches(reading.key)) reading.overtaken = true;
  }
}

function cached(key: OwnedKey, stored: StoredSession): CachedSession {
  const { state, events, updatedAt, hasOlder = false } = stored;
  return { key, state, list: new EventList(events), hasOlder, lastUpdateTime: updatedAt };
}

function isShared(name: string): boolean {
  return name.startsWith(prefixes.app) || name.startsWith(prefixes.user);
}

function isSame(a: SessionKey, b: SessionKey): boolean {
  return a.id === b.id && a.user === b.user && a.app === b.app;
}
