import { type Draft, isObject, type Obj, obj } from './json.ts';

/** Fields that every piece sends in full, so a later value replaces the earlier one. A text of any other field is appended to the earlier text. */
const RESTATED = new Set(
  'id role name index status format finish_reason stop_reason finishReason safetyRatings usage usageMetadata content_filter_results'.split(
    ' ',
  ),
);

/** The deepest level at which streams split values. A value below it arrives complete, so it is neither copied nor merged. */
const DEPTH = 3;

function isMergeable(value: unknown): value is Obj {
  return isObject(value) && !ArrayBuffer.isView(value);
}

/** Copies a value, so that later merges do not change the caller's object. */
function own(value: unknown, depth: number): unknown {
  if (Array.isArray(value)) return [...value];
  if (!isMergeable(value) || depth > DEPTH) return value;
  // The fields are copied one by one: an object made with a spread becomes slow in V8 as soon as a field is added.
  const copy: Draft = {};
  for (const key in value) {
    const inner = value[key];
    if (key !== '__proto__') copy[key] = typeof inner === 'object' ? own(inner, depth + 1) : inner;
  }
  return copy;
}

/**
 * Merges one piece of a stream into a draft. A text is appended to the earlier text, list entries are added, objects are merged, and
 * other values replace the earlier one. Null and empty texts are ignored, and the first `type` stays. The function copies what it
 * takes from the piece, so no later merge changes the caller's objects.
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

/** Whether a part continues the part before it. A part with a thought signature is finished. */
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

/** Adds a streamed part to a list. A text that follows a text continues it, and so does a thought that follows a thought. */
export function addPart(parts: Draft[], part: Obj): void {
  const last = parts.at(-1);
  if (last && continues(last, part)) merge(last, part);
  else parts.push(merge({}, part));
}

/** Joins streamed parts into the parts of a whole response. */
export function mergeParts(parts: readonly unknown[]): Obj[] {
  const merged: Draft[] = [];
  for (const entry of parts) {
    addPart(merged, typeof entry === 'string' ? { type: 'text', text: entry } : obj(entry));
  }
  return merged;
}
