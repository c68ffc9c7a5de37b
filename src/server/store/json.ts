import type { Event } from '@google/adk';
import { applyDelta, emptyState, hasKeys, prefixes, type StateRecord } from './state.ts';
import { StoreError } from './store.ts';

/** The value as JSON; a `StoreError` naming it when it has no JSON, so that a write fails before it begins. */
export function toJson(value: unknown, name: string): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new StoreError(`${name} cannot be written as JSON: ${String(cause)}`, { cause });
  }
  if (text === undefined) throw new StoreError(`${name} cannot be written as JSON: it is ${typeof value}`);
  return text;
}

/** Reads what `toJson` wrote of a value of this type. */
export function fromJson<T>(text: string): T {
  return JSON.parse(text) as T;
}

/** Reads a state; the record has no prototype. */
export function stateFromJson(text: string): StateRecord {
  return applyDelta(emptyState(), fromJson<StateRecord>(text));
}

/** A delta as a store will return it, and shared with no tool. Without the `temp:` keys. */
export function asStored(delta: Record<string, unknown>): StateRecord {
  const stored = emptyState();
  if (!hasKeys(delta)) return stored;
  const written = fromJson<Record<string, unknown>>(toJson(delta, 'The state delta'));
  for (const name of Object.keys(delta)) {
    if (!name.startsWith(prefixes.temp))
      stored[name] = Object.hasOwn(written, name) ? written[name] : undefined;
  }
  return stored;
}

/** The event as JSON, without the `temp:` keys of its state delta, which never outlive a turn. */
export function eventToJson(event: Event): string {
  const delta = event.actions?.stateDelta;
  if (delta === undefined || !Object.keys(delta).some((key) => key.startsWith(prefixes.temp))) {
    return toJson(event, 'The event');
  }
  const kept = emptyState();
  for (const [key, value] of Object.entries(delta)) if (!key.startsWith(prefixes.temp)) kept[key] = value;
  return toJson({ ...event, actions: { ...event.actions, stateDelta: kept } }, 'The event');
}

/** The ids of the calls that the event answers. */
export function answeredCalls(event: Event): string[] {
  const ids: string[] = [];
  for (const part of event.content?.parts ?? []) {
    const id = part.functionResponse?.id;
    if (id !== undefined) ids.push(id);
  }
  return ids;
}
