import { obj } from './json.ts';
import { parse } from './parse.ts';
import type { ToolUse } from './reading.ts';
import type { ParsedResponse } from './record.ts';

/** A response as one row of a trace. The counts of input and output tokens are the provider's own numbers (`usage.reported`). */
export interface FlatResponse {
  /** The joined text, or null when it is empty. For an Anthropic response with a tool call for the client: its `content` array. */
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
 * Converts a record to one row of a trace.
 *
 * @param record A record of `parse`. `output` can be Anthropic's `content` array only if the option `raw` of `parse` was true.
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
 * Reads a response and converts it to one row of a trace. It never throws; for input that is no response, the row has an `error`.
 *
 * @param provider The provider's name, any text. It does not change how the response is read; the shape of the response decides that.
 * @param response As for `parse`.
 *
 * @example
 * const { output, tool_uses, input_tokens } = parseProviderResponse('anthropic', body);
 */
export function parseProviderResponse(provider: string, response: unknown): FlatResponse {
  return toFlat(parse(response, { provider, raw: true }));
}
