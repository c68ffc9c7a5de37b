import { failureRecord } from './failure.ts';
import { jsonFraming } from './frames.ts';
import { bytesOf, obj, strOrNull, utf8Of } from './json.ts';
import { parse } from './parse.ts';
import { emptyRecord, type ParsedResponse } from './record.ts';
import type { ParseOptions } from './settle.ts';

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
