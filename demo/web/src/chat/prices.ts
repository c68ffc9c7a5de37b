import { calcPrice } from '@pydantic/genai-prices';
import type { TokenUsage } from 'duologue/protocol';

/**
 * The cost of tokens in US dollars; null when the price of the model is not known. This file is loaded on demand,
 * because the price list is large.
 */
export function priceOf(usage: TokenUsage, model: string, at: Date): number | null {
  const counts = {
    input_tokens: usage.input,
    output_tokens: usage.output,
    cache_read_tokens: usage.cacheRead,
    cache_write_tokens: usage.cacheWrite,
    // Some models report more audio tokens than tokens in all, which the price list refuses.
    input_audio_tokens: atMost(usage.audio?.input, usage.input),
    output_audio_tokens: atMost(usage.audio?.output, usage.output),
    cache_audio_read_tokens: atMost(usage.audio?.cacheRead, usage.cacheRead),
  };
  const known = Object.fromEntries(Object.entries(counts).filter((entry) => entry[1] !== null));
  return calcPrice(known as Record<string, number>, model, { timestamp: at })?.total_price ?? null;
}

function atMost(part: number | null | undefined, whole: number | null): number | null {
  return part == null || whole === null ? null : Math.min(part, whole);
}
