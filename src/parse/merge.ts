import { type Draft, isObject, type Obj } from './json.ts';

/** Fields that a later piece states again rather than continues. */
const RESTATED = new Set(
  'id type role name index call_id toolUseId status format model stop_reason finish_reason'.split(' '),
);

// Pieces of a stream are shallow; what is nested deeper came whole.
const DEPTH = 3;

/**
 * Merges one piece of a stream into a draft: text continues text, lists grow, objects merge, everything else
 * replaces, null says nothing. The piece is never changed, nor shared where a later merge would change it.
 */
export function merge(into: Draft, piece: Obj, depth = 0): Draft {
  for (const key in piece) {
    const value = piece[key];
    if (value == null || key === '__proto__') continue;
    const known = into[key];
    if (typeof value === 'string') {
      if (typeof known !== 'string') into[key] = value;
      else if (!RESTATED.has(key)) into[key] = known + value;
      else if (value) into[key] = value;
    } else if (Array.isArray(value)) {
      if (Array.isArray(known)) for (const entry of value) known.push(entry);
      else into[key] = [...value];
    } else if (isObject(value) && depth < DEPTH && !ArrayBuffer.isView(value)) {
      into[key] = merge(isObject(known) ? known : {}, value, depth + 1);
    } else into[key] = value;
  }
  return into;
}

/** Lets later fields win, but not over the first id; null says nothing, and usage is restated count by count. */
export function restate(into: Draft, head: unknown): void {
  if (!isObject(head)) return;
  for (const key in head) {
    const value = head[key];
    if (value == null || key === '__proto__' || (key === 'id' && into.id)) continue;
    if (key === 'usage' && isObject(into.usage)) {
      into.usage = { ...into.usage };
      restate(into.usage as Draft, value);
    } else into[key] = value;
  }
}

/** The draft under a key, made on first use. */
export function slot(drafts: Map<unknown, Draft>, key: unknown): Draft {
  const known = drafts.get(key);
  if (known) return known;
  const draft: Draft = {};
  drafts.set(key, draft);
  return draft;
}
