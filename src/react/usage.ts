import type { Message, TokenUsage } from '../protocol/chunks.ts';

const KINDS = ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning', 'total'] as const;

/** The tokens of all these messages together; null where no message says anything. */
export function totalUsage(messages: readonly Message[]): TokenUsage {
  const total = Object.fromEntries(KINDS.map((kind) => [kind, null])) as unknown as TokenUsage;
  for (const { metadata } of messages) {
    for (const kind of KINDS) {
      const count = metadata?.usage?.[kind];
      if (typeof count === 'number') total[kind] = (total[kind] ?? 0) + count;
    }
  }
  return total;
}
