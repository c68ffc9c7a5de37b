import type { Event } from '@google/adk';
import { EventList } from './event-list.ts';
import { asStored } from './json.ts';
import { type CachedSession, type CacheLimits, SessionCache } from './session-cache.ts';
import { emptyState, hasKeys, prefixes, type StateRecord } from './state.ts';
import type { SessionKey, Store } from './store.ts';

/**
 * Sessions as the store has them. Those used last are kept ready, so that a turn starts without reading the history; whoever
 * writes to the store says so here, and a read that a write overtakes is not kept.
 */
export class ReadySessions {
  readonly #store: Store;
  readonly #cache: SessionCache;
  /** Reads on their way. */
  readonly #reads = new Set<{ key: SessionKey; overtaken: boolean }>();

  constructor(store: Store, limits: CacheLimits) {
    this.#store = store;
    this.#cache = new SessionCache(limits);
  }

  /** The session; null when there is none such. */
  async get(key: SessionKey): Promise<CachedSession | null> {
    return this.#cache.get(key) ?? (await this.read(key));
  }

  /** The session, read from the store whatever is kept of it. */
  async read(key: SessionKey): Promise<CachedSession | null> {
    const reading = { key, overtaken: false };
    this.#reads.add(reading);
    try {
      const stored = await this.#store.loadSession(key);
      if (stored === null) return null;
      const { state, events, updatedAt } = stored;
      const session = { key, state, list: new EventList(events), lastUpdateTime: updatedAt };
      if (!reading.overtaken) this.#cache.add(session);
      return session;
    } finally {
      this.#reads.delete(reading);
    }
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

  #change(delta: StateRecord, reaches: (key: SessionKey) => boolean): void {
    if (!hasKeys(delta)) return;
    this.#cache.change(delta, reaches);
    this.#overtakeReads(reaches);
  }

  #overtakeReads(reaches: (key: SessionKey) => boolean): void {
    for (const reading of this.#reads) if (reaches(reading.key)) reading.overtaken = true;
  }
}

function isSame(a: SessionKey, b: SessionKey): boolean {
  return a.id === b.id && a.user === b.user && a.app === b.app;
}
