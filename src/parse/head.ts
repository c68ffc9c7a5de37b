import { errorFrom } from './errors.ts';
import { isObject, millis, type Obj, strOrNull } from './json.ts';
import type { ParsedResponse } from './record.ts';
import { readUsage, type UsageKind } from './usage.ts';

/** Reads what OpenAI, Anthropic and Gemini Interactions name alike. */
export function readHead(body: Obj, record: ParsedResponse, kind: UsageKind): void {
  record.id = strOrNull(body.id);
  record.model = strOrNull(body.model);
  record.createdAt = millis(body.created ?? body.created_at);
  record.serviceTier = strOrNull(body.service_tier);
  if (isObject(body.usage)) record.usage = readUsage(kind, body.usage, record.warnings);
  // Some servers send an empty error with a good response.
  if (body.error && Object.keys(body.error).length > 0) record.error = errorFrom(body.error);
}

/** Reads the status of a response that may still be running. */
export function readStatus(body: Obj, record: ParsedResponse): void {
  record.status = strOrNull(body.status);
  if (body.status === 'queued' || body.status === 'in_progress') record.complete = false;
}
