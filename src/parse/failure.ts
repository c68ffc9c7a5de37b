import { errorFrom } from './errors.ts';
import type { ParsedResponse } from './record.ts';
import { type ParseOptions, settle } from './settle.ts';

/** Why an input is no provider's response. */
export type FailureCode = 'empty' | 'not_json' | 'unknown_shape' | 'unreadable';

/** Makes a record that of an input that is neither a response nor an error body of a known shape. */
export function failureRecord(
  record: ParsedResponse,
  code: FailureCode,
  seen: string,
  options: ParseOptions,
): ParsedResponse {
  const message = `not a known provider's response: ${excerpt(seen)}`;
  record.error = errorFrom({ type: 'unrecognized_response', code, message });
  record.complete = false;
  return settle(record, options, null);
}

/** The start of a text, short enough for a message. */
export function excerpt(text: string): string {
  return text.slice(0, 80).replace(/\s+/g, ' ');
}
