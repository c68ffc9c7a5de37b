import { type ErrorBody, errorFrom } from './errors.ts';
import { emptyRecord, type ParsedResponse } from './record.ts';
import { label, type ParseOptions, settleError } from './settle.ts';

/** The record of an error body: an error, never an empty success. */
export function errorRecord({ api, error }: ErrorBody, options: ParseOptions): ParsedResponse {
  const record = emptyRecord(api);
  label(record, options.provider);
  settleError(record, error, options);
  return record;
}

/** Why an input is no provider's response. */
export type FailureCode = 'empty' | 'not_json' | 'unknown_shape' | 'unreadable';

/** The record of an input that is neither a response nor an error body of a known shape. */
export function failureRecord(code: FailureCode, seen: string, options: ParseOptions): ParsedResponse {
  const error = errorFrom(`not a known provider's response: ${excerpt(seen)}`, 'unrecognized_response');
  error.code = code;
  const record = errorRecord({ api: null, error }, options);
  record.complete = false;
  return record;
}

/** The start of a text, short enough for a message. */
export function excerpt(text: string): string {
  return text.slice(0, 80).replace(/\s+/g, ' ');
}
