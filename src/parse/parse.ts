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
