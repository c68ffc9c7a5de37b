import { createAccumulator } from './accumulator.ts';
import { matchApi, unwrap } from './detect.ts';
import { errorOf } from './errors.ts';
import { errorRecord, excerpt, failureRecord } from './failure.ts';
import { isObject, type Obj, tryJson } from './json.ts';
import { emptyRecord, type ParsedResponse } from './record.ts';
import { type ParseOptions, settle } from './settle.ts';

const NOTHING_MORE: Obj = Object.freeze({});

function parseObject(value: Obj, options: ParseOptions): ParsedResponse {
  const direct = matchApi(value);
  const error = direct === null ? errorOf(value) : null;
  if (error !== null) return errorRecord(error, options);
  const match = direct ?? unwrap(value);
  if (match === null && !value.bytes && !value.chunk) {
    return failureRecord('unknown_shape', excerpt(Object.keys(value).slice(0, 9).join(', ')), options);
  }
  if (match === null || match.as === 'event') return createAccumulator(options).push(value).end();
  const record = emptyRecord(match.reader.provider, match.reader.api);
  match.reader.read(match.value, record);
  return settle(record, match.value, NOTHING_MORE, options);
}

function parseValue(raw: unknown, options: ParseOptions, isText: boolean): ParsedResponse {
  if (typeof raw === 'string' && !isText) {
    const text = raw.replace(/^\ufeff/, '');
    const value = tryJson(text);
    return value === undefined
      ? createAccumulator(options).push(text).end()
      : parseValue(value, options, true);
  }
  if (Array.isArray(raw) || ArrayBuffer.isView(raw) || raw instanceof ArrayBuffer) {
    return createAccumulator(options).push(raw).end();
  }
  if (isObject(raw)) return parseObject(raw, options);
  return failureRecord(raw == null ? 'empty' : 'not_an_object', excerpt(String(raw)), options);
}

/**
 * Reads what a provider's API returned, whole or streamed, as an object, a list of events, text or bytes, into one
 * record; it never throws: what cannot be read is a record with an error.
 */
export function parse(raw: unknown, options: ParseOptions = {}): ParsedResponse {
  try {
    return parseValue(raw, options, false);
  } catch (cause) {
    // Only objects that are not plain data come here: getters and proxies that throw.
    return failureRecord('unreadable', excerpt(String(cause)), options);
  }
}
