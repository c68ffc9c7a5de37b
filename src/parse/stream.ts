import { createAccumulator } from './accumulator.ts';
import type { ParsedResponse } from './record.ts';
import type { ParseOptions } from './settle.ts';

/** What a stream may be read from: text, bytes or decoded events, all at once or as they arrive. */
export type StreamSource =
  | string
  | Uint8Array
  | ReadableStream<unknown>
  | AsyncIterable<unknown>
  | Iterable<unknown>;

/** Reads a streamed response to its end; of a source that fails it returns what had arrived, with the error. */
export async function parseStream(
  source: StreamSource,
  options: ParseOptions | string = {},
): Promise<ParsedResponse> {
  const accumulator = createAccumulator(options);
  if (typeof source === 'string' || ArrayBuffer.isView(source)) return accumulator.push(source).end();
  try {
    if ('getReader' in source) {
      // Some browsers cannot iterate a ReadableStream.
      const reader = source.getReader();
      for (let next = await reader.read(); !next.done; next = await reader.read())
        accumulator.push(next.value);
    } else for await (const chunk of source) accumulator.push(chunk);
  } catch (cause) {
    const message = String((cause as Error | null)?.message ?? cause);
    accumulator.push({ error: { type: 'stream_error', message } });
  }
  return accumulator.end();
}
