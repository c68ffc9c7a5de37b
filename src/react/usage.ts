import type { Message, TokenUsage } from '../protocol/chunks.ts';

const KINDS = ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning', 'total'] as const;

/** The tokens of all these messages together; null where no message says anything. */
export function totalUsage(messages: readonly Message[]): TokenUsage {
  const total: TokenUsage = {
    input: null,
    output: null,
    cacheRead: null,
    cacheWrite: null,
    reasoning: null,
    total: null,
  };
  for (const { metadata } of messages) {
    for (const kind of KINDS) {
      const count = metadata?.usage?.[kind];
      if (typeof count === 'number') total[kind] = (total[kind] ?? 0) + count;
    }
  }
  return total;
}
