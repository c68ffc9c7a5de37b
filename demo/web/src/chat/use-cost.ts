import type { Message } from 'duologue/protocol';
import { useEffect, useState } from 'react';

/** The cost of a message in US dollars; null until it is known, or when the price is unknown. */
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
      // If the price list cannot be loaded, the page shows only the tokens.
      () => undefined,
    );
    return () => {
      isWanted = false;
    };
  }, [usage, isCounted, modelVersion, createdAt]);
  return cost;
}
