/** A JSON object of unknown content. */
export type Obj = Readonly<Record<string, unknown>>;

/** A JSON object under construction. */
export type Draft = Record<string, unknown>;

/** An empty object. */
export const NOTHING: Obj = {};
const NONE: readonly unknown[] = [];

/** Decodes UTF-8 bytes. */
export function utf8Of(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** Returns the value if it is an object, else an empty object. */
export function obj(value: unknown): Obj {
  return isObject(value) ? value : NOTHING;
}

/** Returns the value if it is an array, else an empty array. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : NONE;
}

/** Whether a value is an object and not an array. */
export function isObject(value: unknown): value is Obj {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the text of a string, of an object with a `text`, or of a list of them. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(textOf).join('');
  return str(obj(value).text);
}

/** Parses JSON text; returns undefined when it is not valid. */
export function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the value if it is a string, else an empty string. */
export function str(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Converts a time to Unix milliseconds. A number is in seconds (OpenAI), a text is an ISO date. Returns null for any other value. */
export function millis(value: unknown): number | null {
  const ms = typeof value === 'number' ? value * 1000 : Date.parse(str(value));
  // Some servers send 0 for an unknown time.
  return Number.isFinite(ms) ? ms || null : null;
}

/** Returns the bytes of a typed array, a view or a buffer; null for every other value. */
export function bytesOf(value: unknown): Uint8Array | null {
  if (!ArrayBuffer.isView(value) && !(value instanceof ArrayBuffer)) return null;
  const view: { buffer?: ArrayBufferLike; byteOffset?: number; byteLength: number } = value;
  return new Uint8Array(view.buffer ?? (value as ArrayBuffer), view.byteOffset, view.byteLength);
}

/** Returns the objects of a list, without the other entries; an empty list when the value is no list. */
export function objects(value: unknown): readonly Obj[] {
  const all = list(value);
  for (const entry of all) if (!isObject(entry)) return all.filter(isObject);
  return all as readonly Obj[];
}

/** Returns the value if it is a non-empty string, else null. */
export function strOrNull(value: unknown): string | null {
  return str(value) || null;
}

/** Caches the results of a function of one text. It is for texts such as stop reasons, of which responses repeat the same few. */
export function memo<T>(find: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    let found = known.get(text);
    if (found === undefined) {
      found = find(text);
      // A faulty service could send any number of different texts, or very long ones, so the cache is limited.
      if (known.size > 99) known.clear();
      if (text.length < 99) known.set(text, found);
    }
    return found;
  };
}
