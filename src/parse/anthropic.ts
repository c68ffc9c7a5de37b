import type { ApiReader } from './api.ts';
import { readHead } from './head.ts';
import { closeArguments, itemFold, type Step } from './item-fold.ts';
import { type Draft, type Obj, obj, objects, str, strOrNull } from './json.ts';
import { addStopDetail, addText } from './output.ts';
import type { ParsedResponse } from './record.ts';
import { readTyped } from './typed-items.ts';

function read(body: Obj, record: ParsedResponse): void {
  readHead(body, record, 'anthropic');
  record.stopReason = strOrNull(body.stop_reason);
  record.serviceTier = strOrNull(obj(body.usage).service_tier);
  if (typeof body.content === 'string') addText(record, body.content);
  for (const block of objects(body.content)) readTyped(block, record, record);
  if (body.stop_sequence || body.stop_details) {
    const { category, explanation } = obj(body.stop_details);
    addStopDetail(record, body.stop_sequence, category, explanation);
  }
}

/** The field that grows, by the type of its deltas. */
const TEXTS: Readonly<Record<string, string>> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  input_json_delta: 'partial_json',
};

function stepOf(event: Obj): Step | null {
  const at = event.index;
  switch (event.type) {
    case 'content_block_delta': {
      const delta = obj(event.delta);
      if (delta.citation) return { at, piece: { citations: [delta.citation] } };
      return { at, piece: delta, only: TEXTS[str(delta.type)] };
    }
    case 'content_block_start':
      return { at, open: event.content_block };
    case 'message_start':
      return { start: true, head: event.message };
    case 'message_delta':
      // Cumulative: what is stated again replaces what the start said.
      return { head: { ...obj(event.delta), usage: event.usage } };
    case 'message_stop':
      return { done: true };
    case 'content_block_stop':
    case 'ping':
      return {};
  }
  return null;
}

function close(body: Draft, blocks: Draft[]): Obj {
  for (const block of blocks) {
    const type = str(block.type);
    // A whole response names the model that answered, not the one that was asked.
    if (type === 'fallback') body.model = obj(block.to).model ?? body.model;
    // Without its start a block has the type of its first delta.
    if (type.endsWith('_delta')) block.type = type === 'input_json_delta' ? 'tool_use' : type.slice(0, -6);
    if (block.partial_json) {
      block.input = closeArguments(block.partial_json);
      delete block.partial_json;
    }
  }
  if (blocks.length > 0) body.content = blocks;
  return body;
}

/** Anthropic Messages, also behind Bedrock InvokeModel and Vertex. */
export const anthropicMessages: ApiReader = {
  api: 'anthropic.messages',
  recognise(value) {
    if (value.type === 'message') return 'body';
    if (value.type && stepOf(value)) return 'event';
    if (!Array.isArray(value.content)) return null;
    return value.stop_reason || obj(value.usage).input_tokens !== undefined ? 'body' : null;
  },
  read,
  fold: itemFold({ stepOf, close }),
};
