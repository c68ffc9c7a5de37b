import { createAccumulator } from './accumulator.ts';
import { readBody } from './body.ts';
import { recognise } from './detect.ts';
import { failureRecord } from './failure.ts';
import { bytesOf, isObject, type Obj, tryJson, utf8Of } from './json.ts';
import { emptyRecord, nameApi, type ParsedResponse } from './record.ts';
import { type ParseOptions, settle } from './settle.ts';

/**
 * Reads what a provider's API returned, whole or streamed, as an object, a list of events, text or bytes, into one
 * record; it never throws: what cannot be read is a record with an error.
 */
export function parse(raw: unknown, options: ParseOptions = {}): ParsedResponse {
  try {
    const bytes = bytesOf(raw);
    // Bytes that start with a zero are an AWS event stream, all others are text.
    const text = bytes?.[0] ? utf8Of(bytes) : raw;
    const value = typeof text === 'string' ? (tryJson(text) ?? text) : raw;
    const match = isObject(value) && recognise(value);
    if (!match || match.as === 'event') return createAccumulator(options).push(value).end();
    const body = value as Obj;
    const record = emptyRecord();
    nameApi(record, match.api);
    readBody(body, record);
    return settle(record, options, body);
  } catch (cause) {
    // Only objects that are not plain data come here: getters and proxies that throw.
    return failureRecord(emptyRecord(), 'unreadable', String(cause), options);
  }
}
