/** A JSON object of unknown content. */
export type Obj = Readonly<Record<string, unknown>>;

/** A JSON object under construction. */
export type Draft = Record<string, unknown>;

/** An empty object. */
export const NOTHING: Obj = {};
const NONE: readonly unknown[] = [];

/** The text that bytes are in UTF-8. */
export function utf8Of(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** The value if it is an object, else an empty one. */
export function obj(value: unknown): Obj {
  return isObject(value) ? value : NOTHING;
}

/** The value if it is an array, else an empty one. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : NONE;
}

/** Whether a value is an object and not an array. */
export function isObject(value: unknown): value is Obj {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The text of a string, of a text part, or of a list of them. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(textOf).join('');
  return str(obj(value).text);
}

/** JSON.parse that answers undefined instead of throwing. */
export function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The value if it is a string, else an empty one. */
export function str(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Milliseconds from OpenAI's seconds or an ISO date. */
export function millis(value: unknown): number | null {
  const ms = typeof value === 'number' ? value * 1000 : Date.parse(str(value));
  // Some servers say 0.
  return Number.isFinite(ms) ? ms || null : null;
}

/** The value as bytes, or null when it holds none. */
export function bytesOf(value: unknown): Uint8Array | null {
  if (!ArrayBuffer.isView(value) && !(value instanceof ArrayBuffer)) return null;
  const view: { buffer?: ArrayBufferLike; byteOffset?: number; byteLength: number } = value;
  return new Uint8Array(view.buffer ?? (value as ArrayBuffer), view.byteOffset, view.byteLength);
}

/** The objects in a list, or none. */
export function objects(value: unknown): readonly Obj[] {
  const all = list(value);
  for (const entry of all) if (!isObject(entry)) return all.filter(isObject);
  return all as readonly Obj[];
}

/** The value if it is a non-empty string, else null. */
export function strOrNull(value: unknown): string | null {
  return str(value) || null;
}

/** The same function of a text, for texts of which a process sees the same few again and again. */
export function memo<T>(find: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    let found = known.get(text);
    if (found === undefined) {
      found = find(text);
      // What a stranger sends must not fill the memory.
      if (known.size > 99) known.clear();
      if (text.length < 99) known.set(text, found);
    }
    return found;
  };
}
