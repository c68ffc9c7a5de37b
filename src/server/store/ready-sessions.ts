import type { Event } from '@google/adk';
import { EventList } from './event-list.ts';
import { asStored } from './json.ts';
import type { SharedStore } from './nodes.ts';
import { type CachedSession, type CacheLimits, SessionCache } from './session-cache.ts';
import { applyDelta, emptyState, hasKeys, prefixes, type StateRecord } from './state.ts';
import {
  type HistoryLimits,
  type OwnedKey,
  type SessionKey,
  StaleFence,
  type Store,
  type StoredSession,
} from './store.ts';
import { answeredLate, windowOf } from './window.ts';

/**
 * Sessions as the store has them. Those used last are kept ready, so that a turn starts without reading the history; whoever
 * writes to the store says so here, and a read that a write overtakes is not kept.
 */
export class ReadySessions {
  readonly #store: Store;
  readonly #shared: SharedStore | null;
  readonly #cache: SessionCache;
  readonly #window: HistoryLimits;
  /** Reads on their way. */
  readonly #reads = new Set<{ key: SessionKey; overtaken: boolean }>();

  /** `shared`: the store, when other nodes write to it as well. */
  constructor(store: Store, limits: CacheLimits, shared: SharedStore | null) {
    this.#store = store;
    this.#shared = shared;
    this.#cache = new SessionCache(limits);
    // Room to grow, so that a session that has reached its limits is not read again for every event.
    const { events, bytes } = limits.history;
    this.#window = { events: Math.ceil(events * 0.75), bytes: Math.ceil(bytes * 0.75) };
  }

  /** Makes a session, and keeps it ready for its first owner. */
  async create(key: SessionKey): Promise<void> {
    const { result: stored, overtaken } = await this.#reading(key, this.#store.createSession(key, {}));
    if (overtaken) this.#cache.remove(key);
    else this.#cache.add(cached({ fence: 0, ...key }, stored));
  }

  /** A session has its first owner: nobody wrote to it before. */
  handOn(key: OwnedKey): void {
    this.#cache.handOn(key);
  }

  /** The session, its events up to date; null when there is none such. What others share with it may have changed on another node. */
  async get(key: OwnedKey): Promise<CachedSession | null> {
    return this.#cache.get(key) ?? (await this.read(key));
  }

  /** The session with all that others share with it, as it is now. Throws `StaleFence` when another process owns it. */
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

  /** The session, read from the store whatever is kept of it. */
  async read(key: OwnedKey): Promise<CachedSession | null> {
    const { result: stored, overtaken } = await this.#reading(key, this.#load(key));
    if (stored === null) return null;
    const session = cached(key, stored);
    if (!overtaken) this.#cache.add(session);
    return session;
  }

  /** An event was stored. */
  appended(key: SessionKey, event: Event): void {
    this.#overtakeReads((other) => isSame(other, key));
    this.#cache.append(key, event);
    this.changed(key, event.actions?.stateDelta ?? {});
  }

  /** State was stored: every session that it reaches sees it. */
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

  /** The session is read from the store again before it is used. */
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

  /** What is read of a session, and whether a write overtook it. */
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
