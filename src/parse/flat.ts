import { obj } from './json.ts';
import { parse } from './parse.ts';
import type { ParsedResponse } from './record.ts';

/** A tool use in the flat view. */
export interface FlatToolUse {
  id: string;
  name: string;
  input: unknown;
}

/** The flat view: one row of a trace, with the provider's own numbers. */
export interface FlatResponse {
  /** Joined text; Anthropic's content array when it holds a tool use; null when there is neither. */
  output: string | readonly unknown[] | null;
  tool_uses: FlatToolUse[];
  input_tokens: number | null;
  output_tokens: number | null;
  cache_read_tokens: number | null;
  cache_write_tokens: number | null;
  reasoning_tokens: number | null;
  stop_reason: string | null;
  thinking: string | null;
  sub_type: 'planning' | 'response' | null;
  /** Only where something failed: the provider's error, or that the input is no response. */
  error?: string;
}

/** The flat view of a record; Anthropic's content array needs a record that kept its `raw` body. */
export function toFlat(record: ParsedResponse): FlatResponse {
  const { usage, text } = record;
  const uses = record.toolUses.filter((use) => use.executor === 'client');
  const blocks = record.api === 'anthropic.messages' && uses[0] && obj(record.raw).content;
  return {
    output: Array.isArray(blocks) ? blocks : text || null,
    tool_uses: uses.map(({ id, name, input }) => ({ id, name, input })),
    input_tokens: usage?.reported.input ?? null,
    output_tokens: usage?.reported.output ?? null,
    cache_read_tokens: usage?.cacheRead ?? null,
    cache_write_tokens: usage?.cacheWrite ?? null,
    reasoning_tokens: usage?.reasoning ?? null,
    stop_reason: record.stopReason,
    thinking: record.thinking,
    sub_type: record.subtype,
    ...(record.error && { error: record.error.message }),
  };
}

/** Reads a provider's response into the flat view; an unknown provider name is no obstacle, the shape decides. */
export function parseProviderResponse(provider: string, response: unknown): FlatResponse {
  return toFlat(parse(response, { provider, raw: true }));
}
