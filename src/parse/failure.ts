import type { ErrorBody } from './errors.ts';
import { errorFrom } from './errors.ts';
import { emptyRecord, type ParsedResponse } from './record.ts';
import { type ParseOptions, settleError } from './settle.ts';

/** The record of an error body: an error, never an empty success. */
export function errorRecord({ api, provider, error }: ErrorBody, options: ParseOptions): ParsedResponse {
  const record = emptyRecord(options.provider || provider, api);
  record.detected = !options.provider;
  settleError(record, error, options);
  return record;
}

/** Why an input is no provider's response. */
export type FailureCode = 'empty' | 'not_json' | 'not_an_object' | 'unknown_shape' | 'unreadable';

/** The record of an input that is neither a response nor an error body of a known shape. */
export function failureRecord(code: FailureCode, seen: string, options: ParseOptions): ParsedResponse {
  const error = {
    ...errorFrom(`not a response of a known provider: ${seen}`),
    type: 'unrecognized_response',
    code,
  };
  const record = errorRecord({ api: null, provider: 'unknown', error }, options);
  record.complete = false;
  return record;
}

/** The start of a text, short enough for a message. */
export function excerpt(text: string): string {
  return text.slice(0, 80).replace(/\s+/g, ' ');
}
