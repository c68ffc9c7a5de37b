import { isObject } from './json.ts';

/** HTTP headers in any of the usual forms. */
export type HeaderSource =
  | { get(name: string): string | null }
  | Readonly<Record<string, unknown>>
  | Iterable<readonly [string, string]>;

/** A look-up that ignores case, over any form of headers. */
export function headerLookup(headers: unknown): (name: string) => string | null {
  if (isObject(headers) && typeof headers.get === 'function' && typeof headers.append === 'function') {
    const source = headers as unknown as Headers;
    return (name) => source.get(name);
  }
  const entries: Iterable<unknown> =
    headers instanceof Map || Array.isArray(headers)
      ? headers
      : isObject(headers)
        ? Object.entries(headers)
        : [];
  const byName = new Map<string, string>();
  for (const entry of entries) {
    if (!Array.isArray(entry)) continue;
    const value = Array.isArray(entry[1]) ? entry[1][0] : entry[1];
    if (value !== undefined && value !== null) byName.set(String(entry[0]).toLowerCase(), String(value));
  }
  return (name) => byName.get(name) ?? null;
}
