import { type ErrorBody, errorFrom } from './errors.ts';
import { emptyRecord, type ParsedResponse } from './record.ts';
import { type ParseOptions, settleError } from './settle.ts';

/** The record of an error body: an error, never an empty success. */
export function errorRecord(found: ErrorBody, options: ParseOptions): ParsedResponse {
  const record = emptyRecord(options.provider ?? found.provider, found.api);
  record.detected = options.provider === undefined;
  record.error = found.error;
  record.finish = 'error';
  settleError(record.error, options);
  return record;
}

/** Why an input is no provider's response. */
export type FailureCode = 'empty' | 'not_json' | 'not_an_object' | 'unknown_shape' | 'unreadable';

/** The record of an input that is neither a response nor an error body of a known shape. */
export function failureRecord(code: FailureCode, message: string, options: ParseOptions): ParsedResponse {
  const record = emptyRecord(options.provider ?? 'unknown', null);
  record.detected = false;
  record.complete = false;
  record.error = { ...errorFrom(message), type: 'unrecognized_response', code };
  record.finish = 'error';
  settleError(record.error, options);
  return record;
}

/** The start of a text, short enough for a message. */
export function excerpt(text: string): string {
  const line = text.slice(0, 200).replace(/\s+/g, ' ').trim();
  return line.length > 80 ? `${line.slice(0, 80)}…` : line;
}
