import type { Message } from 'duologue/protocol';
import { useEffect, useState } from 'react';

/** What an answer cost, in US dollars; null while that is not known, or never is. */
export function useCost(message: Message): number | null {
  const { usage, modelVersion, createdAt } = message.metadata ?? {};
  const isCounted = typeof usage?.input === 'number' && typeof usage.output === 'number';
  const [cost, setCost] = useState<number | null>(null);
  useEffect(() => {
    if (!usage || !isCounted || !modelVersion) return;
    let isWanted = true;
    import('./prices.ts').then(
      ({ priceOf }) =>
        isWanted &&
        setCost(priceOf(usage, modelVersion, createdAt === undefined ? new Date() : new Date(createdAt))),
      // Without the list of prices the page still shows the tokens.
      () => undefined,
    );
    return () => {
      isWanted = false;
    };
  }, [usage, isCounted, modelVersion, createdAt]);
  return cost;
}
