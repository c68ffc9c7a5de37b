import type { Obj } from './json.ts';

/** HTTP headers in any of the usual forms. */
export type HeaderSource = Iterable<readonly [string, string]> | Readonly<Record<string, unknown>>;

/**
 * Headers as fields: `retry-after` is `retryAfter`, and those of Bedrock InvokeModel have the names of its invocation
 * metrics: `x-amzn-bedrock-input-token-count` is `inputTokenCount`.
 */
export function headerFields(headers: HeaderSource): Obj {
  const entries =
    Symbol.iterator in headers ? (headers as Iterable<readonly unknown[]>) : Object.entries(headers);
  return Object.fromEntries(
    [...entries].map(([name, value]) => [
      String(name)
        .toLowerCase()
        .replace('x-amzn-bedrock-', '')
        .replace(/-(.)/g, (_, letter: string) => letter.toUpperCase()),
      // Recordings have lists of one.
      String(value),
    ]),
  );
}
