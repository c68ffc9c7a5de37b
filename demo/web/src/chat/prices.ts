import { calcPrice } from '@pydantic/genai-prices';
import type { TokenUsage } from 'duologue/protocol';

/** What so many tokens of a model cost, in US dollars; null when no price is known. The list of prices is large. */
export function priceOf(usage: TokenUsage, model: string, at: Date): number | null {
  const counts = {
    input_tokens: usage.input,
    output_tokens: usage.output,
    cache_read_tokens: usage.cacheRead,
    cache_write_tokens: usage.cacheWrite,
  };
  const known = Object.fromEntries(Object.entries(counts).filter((entry) => entry[1] !== null));
  return calcPrice(known as Record<string, number>, model, { timestamp: at })?.total_price ?? null;
}
