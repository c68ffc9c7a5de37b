import { type Draft, isObject, type Obj, obj } from './json.ts';

/** Fields that a later piece states again rather than continues. */
const RESTATED = new Set(
  'id role name index status format finish_reason stop_reason finishReason safetyRatings usage usageMetadata content_filter_results'.split(
    ' ',
  ),
);

// Pieces of a stream are shallow; what is nested deeper came whole.
const DEPTH = 3;

function isMergeable(value: unknown): value is Obj {
  return isObject(value) && !ArrayBuffer.isView(value);
}

/** A value that may be merged into later without touching the original. */
function own(value: unknown, depth: number): unknown {
  if (Array.isArray(value)) return [...value];
  if (!isMergeable(value) || depth > DEPTH) return value;
  // Not by spreading: an object made so is slow once a field is added.
  const copy: Draft = {};
  for (const key in value) {
    const inner = value[key];
    if (key !== '__proto__') copy[key] = typeof inner === 'object' ? own(inner, depth + 1) : inner;
  }
  return copy;
}

/**
 * Merges one piece of a stream into a draft: text continues text, lists grow, objects merge, everything else
 * replaces, null says nothing. The piece is never changed, nor shared where a later merge would change it.
 */
export function merge(into: Draft, piece: Obj, depth = 0): Draft {
  for (const key in piece) {
    const value = piece[key];
    if (value == null || value === '' || key === '__proto__') continue;
    const known = into[key];
    if (known === undefined) into[key] = own(value, depth);
    else if (key === 'type') continue;
    else if (RESTATED.has(key)) into[key] = value;
    else if (Array.isArray(known)) {
      if (Array.isArray(value)) for (const entry of value) known.push(entry);
      else known.push(value);
    } else if (typeof known === 'string' && typeof value === 'string') into[key] = known + value;
    else if (typeof known === 'string' && Array.isArray(value)) into[key] = [known, ...value];
    else if (isObject(known) && isMergeable(value) && depth < DEPTH) merge(known, value, depth + 1);
    else into[key] = own(value, depth);
  }
  return into;
}

/** Whether a part goes on where the one before it stopped; a signature closes a part. */
function continues(last: Obj, part: Obj): boolean {
  const text = part.text !== undefined && last.text;
  return (
    Boolean(text || last.thinking || last.summary) &&
    last.type === part.type &&
    last.index === part.index &&
    !last.thought === !part.thought &&
    !last.thoughtSignature
  );
}

/** Adds a streamed part to those before it; neighbouring texts are one, and so are neighbouring thoughts. */
export function addPart(parts: Draft[], part: Obj): void {
  const last = parts.at(-1);
  if (last && continues(last, part)) merge(last, part);
  else parts.push(merge({}, part));
}

/** Streamed parts as the whole response has them. */
export function mergeParts(parts: readonly unknown[]): Obj[] {
  const merged: Draft[] = [];
  for (const entry of parts) {
    addPart(merged, typeof entry === 'string' ? { type: 'text', text: entry } : obj(entry));
  }
  return merged;
}
