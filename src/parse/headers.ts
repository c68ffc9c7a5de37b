/** HTTP headers in any of the usual forms. */
export type HeaderSource = Iterable<readonly [string, string]> | Readonly<Record<string, unknown>>;

/** A look-up that ignores case, over any form of headers. */
export function headerLookup(headers: HeaderSource = {}): (name: string) => string | null {
  const entries =
    Symbol.iterator in headers ? (headers as Iterable<readonly unknown[]>) : Object.entries(headers);
  const known = new Map([...entries].map(([name, value]) => [String(name).toLowerCase(), value]));
  return (name) => {
    const value = known.get(name);
    return value == null ? null : String(value);
  };
}
