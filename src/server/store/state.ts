import { StateConflict } from './store.ts';

/** ADK's prefixes of state keys; written out, since loading ADK for three words takes most of a second. */
export const prefixes = { app: 'app:', user: 'user:', temp: 'temp:' } as const;

/** A record without prototype, so that keys such as `__proto__` and `constructor` are keys like any other. */
export type StateRecord = Record<string, unknown>;

/** State by how far it reaches: all sessions of the app, all of the user, or this session alone. */
export interface ScopedState {
  app: StateRecord;
  user: StateRecord;
  session: StateRecord;
}

/** An empty record without prototype. */
export function emptyState(): StateRecord {
  return Object.create(null) as StateRecord;
}

/** Sorts state keys by ADK's prefixes, which are cut off; `temp:` keys are left out. */
export function splitState(state: Record<string, unknown>): ScopedState {
  const scopes: ScopedState = { app: emptyState(), user: emptyState(), session: emptyState() };
  for (const [key, value] of Object.entries(state)) {
    if (key.startsWith(prefixes.temp)) continue;
    if (key.startsWith(prefixes.app)) scopes.app[key.slice(prefixes.app.length)] = value;
    else if (key.startsWith(prefixes.user)) scopes.user[key.slice(prefixes.user.length)] = value;
    else scopes.session[key] = value;
  }
  return scopes;
}

/** One record with ADK's prefixes put back: what a session sees. */
export function joinState(scopes: ScopedState): StateRecord {
  const state = applyDelta(emptyState(), scopes.session);
  for (const [key, value] of Object.entries(scopes.app)) state[prefixes.app + key] = value;
  for (const [key, value] of Object.entries(scopes.user)) state[prefixes.user + key] = value;
  return state;
}

/** Writes the delta into the state, and returns it; a key set to undefined, which JSON has no word for, is removed. */
export function applyDelta(state: StateRecord, delta: Record<string, unknown>): StateRecord {
  for (const [key, value] of Object.entries(delta)) {
    if (value === undefined) delete state[key];
    else state[key] = value;
  }
  return state;
}

/** A copy that shares nothing with the state. */
export function copyOf(state: StateRecord): StateRecord {
  const copy = emptyState();
  for (const [key, value] of Object.entries(state)) {
    copy[key] = typeof value === 'object' ? structuredClone(value) : value;
  }
  return copy;
}

/** Throws when a key that the delta changes had another value when the change was made, and names those keys. */
export function checkUnchanged(
  delta: Record<string, unknown>,
  seen: Record<string, unknown>,
  current: Record<string, unknown>,
): void {
  const changed = Object.keys(delta).filter(
    (key) => !key.startsWith(prefixes.temp) && valueIn(seen, key) !== valueIn(current, key),
  );
  if (changed.length > 0) throw new StateConflict(`Changed meanwhile: ${changed.join(', ')}`);
}

/** A value as it is stored; undefined when there is none. */
function valueIn(state: Record<string, unknown>, key: string): string | undefined {
  return Object.hasOwn(state, key) ? JSON.stringify(state[key]) : undefined;
}

/** Whether there is anything in the record. */
export function hasKeys(record: Record<string, unknown>): boolean {
  for (const _ in record) return true;
  return false;
}
