import { createAccumulator } from './accumulator.ts';
import { type Match, matchApi, unwrap } from './detect.ts';
import { errorOf } from './errors.ts';
import { errorRecord, excerpt, failureRecord } from './failure.ts';
import { isObject, type Obj, tryJson } from './json.ts';
import { emptyRecord, type ParsedResponse } from './record.ts';
import { type Gathered, type ParseOptions, settle } from './settle.ts';

const NOTHING_MORE: Gathered = Object.freeze({ metrics: null, error: null });

function readMatch({ reader, as, value }: Match, options: ParseOptions): ParsedResponse {
  if (as === 'event') return createAccumulator(options).push(value).end();
  const record = emptyRecord(reader.provider, reader.api);
  reader.read(value, record);
  return settle(record, value, options, NOTHING_MORE);
}

function parseObject(value: Obj, options: ParseOptions): ParsedResponse {
  const match = matchApi(value);
  if (match !== null) return readMatch(match, options);
  const found = errorOf(value);
  if (found !== null) return errorRecord(found, options);
  const inner = unwrap(value);
  if (inner !== null) return readMatch(inner, options);
  if (value.bytes !== undefined || isObject(value.chunk)) return createAccumulator(options).push(value).end();
  const keys = excerpt(Object.keys(value).slice(0, 8).join(', '));
  return failureRecord('unknown_shape', `no known provider response has the keys: ${keys}`, options);
}

function parseText(text: string, options: ParseOptions, depth: number): ParsedResponse {
  const value = tryJson(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  if (value === undefined)
    return createAccumulator(options)
      .push(text.replace(/^\ufeff/, ''))
      .end();
  return parseValue(value, options, depth + 1);
}

function parseValue(raw: unknown, options: ParseOptions, depth: number): ParsedResponse {
  if (typeof raw === 'string' && depth < 2) return parseText(raw, options, depth);
  if (ArrayBuffer.isView(raw) || raw instanceof ArrayBuffer) {
    const bytes = ArrayBuffer.isView(raw)
      ? new Uint8Array(raw.buffer, raw.byteOffset, raw.byteLength)
      : new Uint8Array(raw);
    if (bytes[0] === 0) return createAccumulator(options).push(bytes).end();
    return parseText(new TextDecoder().decode(bytes), options, depth);
  }
  if (Array.isArray(raw)) return createAccumulator(options).push(raw).end();
  if (isObject(raw)) return parseObject(raw, options);
  const code = raw === undefined || raw === null ? 'empty' : 'not_an_object';
  return failureRecord(
    code,
    `expected a provider's response, got ${raw === null ? 'null' : typeof raw}`,
    options,
  );
}

/**
 * Reads what a provider's API returned, whole or streamed, as an object, a list of events, text or bytes, into one
 * record; it never throws: what cannot be read is a record with an error.
 */
export function parse(raw: unknown, options: ParseOptions = {}): ParsedResponse {
  try {
    return parseValue(raw, options, 0);
  } catch (cause) {
    // Only objects that are not plain data come here: getters and proxies that throw.
    return failureRecord('unreadable', `the input could not be read: ${excerpt(String(cause))}`, options);
  }
}
