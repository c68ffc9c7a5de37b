/** Merges objects recursively and replaces every other value, as the AI SDK merges message metadata. Undefined changes nothing. */
export function merge(base: object, changes: object): object {
  const merged = new Map<string, unknown>(Object.entries(base));
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined) continue;
    const before = merged.get(key);
    merged.set(key, isPlain(before) && isPlain(value) ? merge(before, value) : value);
  }
  return Object.fromEntries(merged);
}

/** Whether a value is an object that has fields. */
export function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
