import { obj } from './json.ts';
import { parse } from './parse.ts';
import type { ToolUse } from './reading.ts';
import type { ParsedResponse } from './record.ts';

/** A response as one row of a trace. The token counts are the provider's own, with the provider's own meaning. */
export interface FlatResponse {
  /** The joined text; for Anthropic the content array when it has a tool use; null when there is neither. */
  output: string | readonly unknown[] | null;
  /** The calls that the client has to run. */
  tool_uses: Pick<ToolUse, 'id' | 'name' | 'input'>[];
  input_tokens: number | null;
  output_tokens: number | null;
  cache_read_tokens: number | null;
  cache_write_tokens: number | null;
  reasoning_tokens: number | null;
  stop_reason: string | null;
  thinking: string | null;
  sub_type: 'planning' | 'response' | null;
  /** The message of the error; only present when there is one. */
  error?: string;
}

/**
 * Converts a record to the flat view.
 *
 * @param record A record of `parse`. For Anthropic's content array it needs `raw`: parse with the option `raw: true`.
 */
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

/**
 * Reads a response into the flat view.
 *
 * @param provider The provider's name, any text: the shape of the response decides how it is read.
 * @param response As for `parse`. It never throws; input that is no response gives an `error`.
 *
 * @example
 * const { output, tool_uses, input_tokens } = parseProviderResponse('anthropic', body);
 */
export function parseProviderResponse(provider: string, response: unknown): FlatResponse {
  return toFlat(parse(response, { provider, raw: true }));
}
