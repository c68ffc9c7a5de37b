import { calcPrice } from '@pydantic/genai-prices';
import type { TokenUsage } from 'duologue/protocol';

/** What so many tokens of a model cost, in US dollars; null when no price is known. The list of prices is large. */
export function priceOf(usage: TokenUsage, model: string, at: Date): number | null {
  const counts = {
    input_tokens: usage.input,
    output_tokens: usage.output,
    cache_read_tokens: usage.cacheRead,
    cache_write_tokens: usage.cacheWrite,
    // A part is never more than the whole, whatever the model says: the list refuses such counts.
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
