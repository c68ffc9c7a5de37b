import type { ApiReader } from './api.ts';
import { readHead } from './head.ts';
import { closeArguments, itemFold, type Step } from './item-fold.ts';
import { type Draft, isObject, list, type Obj, obj, str, strOrNull } from './json.ts';
import { addText } from './output.ts';
import type { ParsedResponse } from './record.ts';
import { readTyped } from './typed-items.ts';

function read(body: Obj, record: ParsedResponse): void {
  readHead(body, record, 'anthropic');
  record.stopReason = strOrNull(body.stop_reason);
  record.serviceTier = strOrNull(obj(body.usage).service_tier);
  if (typeof body.content === 'string') addText(record, body.content);
  for (const block of list(body.content)) readTyped(obj(block), record, record);
  const { category, explanation } = obj(body.stop_details);
  if (!body.stop_sequence && !category) return;
  record.stopDetail = {};
  if (body.stop_sequence) record.stopDetail.sequence = str(body.stop_sequence);
  if (category) record.stopDetail.category = str(category);
  if (explanation) record.stopDetail.message = str(explanation);
}

function stepOf({ type, index, delta, message, usage, content_block }: Obj): Step | null {
  switch (type) {
    case 'content_block_delta': {
      const { type: _, citation, ...piece } = obj(delta);
      return { at: index, piece: citation ? { citations: [citation] } : piece };
    }
    case 'content_block_start':
      return { at: index, open: content_block };
    case 'message_start':
      return { start: message };
    case 'message_delta':
      // Cumulative: what is stated again replaces what the start said.
      return { head: { ...obj(delta), usage } };
    case 'message_stop':
      return { done: true };
    case 'content_block_stop':
    case 'ping':
      return {};
  }
  return null;
}

function close(body: Draft, blocks: Draft[]): Obj {
  if (blocks.length > 0) {
    body.content = blocks.map(({ partial_json, ...block }) => {
      // A whole response names the model that answered, not the one that was asked.
      if (block.type === 'fallback') body.model = obj(block.to).model ?? body.model;
      // Without its start a block shows its kind in its fields.
      block.type ??= partial_json ? 'tool_use' : block.thinking ? 'thinking' : 'text';
      return partial_json ? { ...block, input: closeArguments(partial_json) } : block;
    });
  }
  return body;
}

const EVENT = /^(message_(start|delta|stop)|content_block_(start|delta|stop)|ping)$/;

/** Anthropic Messages, also behind Bedrock InvokeModel and Vertex. */
export const anthropicMessages: ApiReader = {
  api: 'anthropic.messages',
  provider: 'anthropic',
  recognise(value) {
    if (value.type === 'message') return 'body';
    if (EVENT.test(str(value.type))) return 'event';
    const known = isObject(value.usage) && value.usage.input_tokens !== undefined;
    return Array.isArray(value.content) && (known || value.stop_reason) ? 'body' : null;
  },
  read,
  fold: itemFold(stepOf, close),
};
