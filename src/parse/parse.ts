import { createAccumulator } from './accumulator.ts';
import { readBody } from './body.ts';
import { recognise } from './detect.ts';
import { jsonFraming } from './frames.ts';
import { bytesOf, isObject, type Obj, obj, strOrNull, tryJson, utf8Of } from './json.ts';
import { emptyRecord, nameApi, type ParsedResponse } from './record.ts';
import { failureRecord, type ParseOptions, settle } from './settle.ts';

/**
 * Reads the response of a provider's API into one record.
 *
 * The parser finds the API and the framing by their shape, so the caller need not know them.
 *
 * @param raw A decoded body, a list of decoded stream events, JSON text, the text of server-sent events or of JSON lines, or
 * bytes of any of these, the AWS binary event stream included. The parser does not change `raw`.
 * @param options Facts that are not in the body: the provider's name, HTTP headers and HTTP status.
 * @returns The record. It refers to objects inside `raw` instead of copying them.
 *
 * The function never throws. For input that is no provider's response, the record has an `error` of type `unrecognized_response`.
 *
 * @example
 * const record = parse(await response.json());
 * if (record.error) throw new Error(record.error.message);
 * console.log(record.text, record.usage?.input, record.usage?.output);
 */
export function parse(raw: unknown, options: ParseOptions = {}): ParsedResponse {
  try {
    const value = typeof raw === 'string' ? (tryJson(raw) ?? raw) : raw;
    const match = isObject(value) && recognise(value);
    if (!match || match.as === 'event') {
      const bytes = bytesOf(value);
      // An AWS event stream starts with the byte 0. No text does, so bytes that start with another value are decoded as text.
      return bytes?.[0] ? parse(utf8Of(bytes), options) : createAccumulator(options).push(value).end();
    }
    const body = value as Obj;
    const record = emptyRecord();
    nameApi(record, match.api);
    readBody(match.description, body, record);
    return settle(record, options, body);
  } catch (cause) {
    // Reading plain data never throws. Reading a proxy or an object with getters can.
    return failureRecord(emptyRecord(), 'unreadable', String(cause), options);
  }
}

/**
 * A source of a stream: the body of a `fetch` response, the event iterator of a vendor's SDK, or any iterable of text, bytes
 * or decoded events. A whole text or byte array is accepted too.
 */
export type StreamSource =
  | string
  | Uint8Array
  | ReadableStream<unknown>
  | AsyncIterable<unknown>
  | Iterable<unknown>;

/**
 * Reads a streamed response to its end.
 *
 * @param source The stream. The function reads it until it ends or fails.
 * @param options As for {@link parse}; a string is the provider's name.
 * @returns A promise of the record. The promise is never rejected. When the source fails, the record holds everything that had
 * arrived, `complete` is false, and `error` has the type `stream_error` and the message of the failure.
 *
 * @example
 * const { body, status, headers } = await fetch(url, request);
 * const record = await parseStream(body ?? '', { status, headers });
 */
export async function parseStream(
  source: StreamSource,
  options: ParseOptions | string = {},
): Promise<ParsedResponse> {
  const accumulator = createAccumulator(options);
  if (typeof source === 'string' || ArrayBuffer.isView(source)) return accumulator.push(source).end();
  try {
    if ('getReader' in source) {
      // Not every browser can iterate a ReadableStream.
      const reader = source.getReader();
      for (let next = await reader.read(); !next.done; next = await reader.read())
        accumulator.push(next.value);
    } else for await (const chunk of source) accumulator.push(chunk);
  } catch (cause) {
    const message = String((cause as Error | null)?.message ?? cause);
    const record = accumulator.push({ error: { type: 'stream_error', message } }).end();
    record.complete = false;
    return record;
  }
  return accumulator.end();
}

/** One result of a batch, as {@link parseBatch} returns it. */
export interface BatchResult {
  /**
   * The id that the caller gave the request: `custom_id` of OpenAI and Anthropic, `key` of Gemini, `recordId` of Bedrock. Null
   * when the result has none.
   */
  id: string | null;
  record: ParsedResponse;
}

/**
 * Reads the results of a batch job.
 *
 * @param raw The result file (JSON lines, as text or bytes), or a list of decoded results.
 * @param options As for {@link parse}; they apply to every result.
 * @returns One entry for each result, in the order of the file. A line that is not JSON gives an entry whose record has an error;
 * the function never throws.
 *
 * @example
 * for (const { id, record } of parseBatch(await readFile('results.jsonl'))) console.log(id, record.text);
 */
export function parseBatch(raw: unknown, options: ParseOptions = {}): BatchResult[] {
  const results: BatchResult[] = [];
  const add = (value: unknown): void => {
    const { custom_id, key, recordId } = obj(value);
    results.push({ id: strOrNull(custom_id ?? key ?? recordId), record: parse(value, options) });
  };
  const broken = (text: string): void => {
    results.push({ id: null, record: failureRecord(emptyRecord(), 'not_json', text, options) });
  };
  const bytes = bytesOf(raw);
  const text = bytes ? utf8Of(bytes) : raw;
  if (typeof text === 'string') {
    const framing = jsonFraming({ event: add, broken, done: () => undefined });
    framing.push(text);
    if (framing.end()) broken(text.slice(text.lastIndexOf('\n') + 1));
  } else if (Array.isArray(text)) text.forEach(add);
  else add(text);
  return results;
}
