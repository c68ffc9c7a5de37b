import { createAccumulator } from './accumulator.ts';
import { readBody } from './body.ts';
import { recognise } from './detect.ts';
import { jsonFraming } from './frames.ts';
import { bytesOf, isObject, type Obj, obj, strOrNull, tryJson, utf8Of } from './json.ts';
import { emptyRecord, nameApi, type ParsedResponse } from './record.ts';
import { failureRecord, type ParseOptions, settle } from './settle.ts';

/**
 * Reads what a provider's API returned, whole or streamed, as an object, a list of events, text or bytes, into one
 * record; it never throws: what cannot be read is a record with an error.
 */
export function parse(raw: unknown, options: ParseOptions = {}): ParsedResponse {
  try {
    const value = typeof raw === 'string' ? (tryJson(raw) ?? raw) : raw;
    const match = isObject(value) && recognise(value);
    if (!match || match.as === 'event') {
      const bytes = bytesOf(value);
      // Bytes that start with a zero are an AWS event stream, all others are text.
      return bytes?.[0] ? parse(utf8Of(bytes), options) : createAccumulator(options).push(value).end();
    }
    const body = value as Obj;
    const record = emptyRecord();
    nameApi(record, match.api);
    readBody(match.description, body, record);
    return settle(record, options, body);
  } catch (cause) {
    // Only objects that are not plain data come here: getters and proxies that throw.
    return failureRecord(emptyRecord(), 'unreadable', String(cause), options);
  }
}

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

/** One result of a batch. */
export interface BatchResult {
  /** The caller's name for the request: `custom_id` (OpenAI, Anthropic), `key` (Gemini), `recordId` (Bedrock); null without one. */
  id: string | null;
  record: ParsedResponse;
}

/**
 * Reads the results of a batch, one record for each, in their order: a file of JSON lines as text or bytes, or a list of results. It never
 * throws; a line that is no JSON is a record with an error.
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
