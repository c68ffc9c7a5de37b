import type { ApiReader } from './api.ts';
import { closeArguments, itemFold, type Step } from './item-fold.ts';
import { type Draft, isObject, type Obj, obj, objects, strOrNull } from './json.ts';
import { readKeyed } from './keyed-parts.ts';
import { addStopDetail } from './output.ts';
import type { ParsedResponse } from './record.ts';
import { readUsage } from './usage.ts';

function read(body: Obj, record: ParsedResponse): void {
  const { guardrail, promptRouter } = obj(body.trace);
  record.stopReason = strOrNull(body.stopReason);
  record.id = strOrNull(obj(body.$metadata).requestId ?? obj(body.ResponseMetadata).RequestId);
  record.model = strOrNull(obj(promptRouter).invokedModelId);
  record.serviceTier = strOrNull(obj(body.serviceTier).type);
  if (guardrail) record.safety = guardrail;
  if (isObject(body.usage)) record.usage = readUsage('converse', body.usage, record.warnings);
  const { latencyMs } = obj(body.metrics);
  if (typeof latencyMs === 'number') record.latencyMs = latencyMs;
  for (const block of objects(obj(obj(body.output).message).content))
    readKeyed(block, record, record.warnings);
  if (body.additionalModelResponseFields)
    addStopDetail(record, obj(body.additionalModelResponseFields).stop_sequence);
}

/** Citations and results grow as lists; the rest of a delta has the shape of its block. */
function pieceOf(delta: Obj): Obj {
  if (delta.citation) return { citations: [delta.citation] };
  return Array.isArray(delta.toolResult) ? { toolResult: { content: delta.toolResult } } : delta;
}

function stepOf(event: Obj): Step | null {
  const { delta, start, contentBlockIndex: at } = obj(event.contentBlockDelta ?? event.contentBlockStart);
  if (isObject(delta) && typeof delta.text === 'string') return { at, piece: delta, only: 'text' };
  if (delta ?? start) return { at, piece: pieceOf(obj(delta ?? start)) };
  if (event.messageStop) return { head: event.messageStop };
  // The counts come last.
  if (event.metadata) return { head: event.metadata, done: true };
  if (event.messageStart) return { start: true };
  return event.contentBlockStop || event.contentBlockStart || event.contentBlockDelta ? {} : null;
}

function close(body: Draft, blocks: Draft[]): Obj {
  for (const { toolUse } of blocks) {
    if (isObject(toolUse)) (toolUse as Draft).input = closeArguments(toolUse.input);
  }
  return { ...body, output: { message: { content: blocks } } };
}

/** Bedrock Converse and ConverseStream; Nova's InvokeModel bodies have the same shape. */
export const bedrockConverse: ApiReader = {
  api: 'bedrock.converse',
  recognise(value) {
    const whole = isObject(obj(value.output).message) || (value.stopReason && isObject(value.usage));
    if (whole) return 'body';
    return value.metadata && !obj(value.metadata).metrics ? null : stepOf(value) && 'event';
  },
  read,
  fold: itemFold({ stepOf, close }),
};
