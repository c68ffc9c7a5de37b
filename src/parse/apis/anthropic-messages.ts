import type { ApiDescription, ApiNames } from '../api.ts';
import { closeArguments, itemAt, restate, type Streaming, start } from '../fold.ts';
import { type Obj, obj, str } from '../json.ts';
import { merge } from '../merge.ts';
import { addStopDetail } from '../output.ts';

const streaming: Streaming = {
  ownEvents: true,
  take(fold, event) {
    switch (event.type) {
      case 'content_block_delta': {
        const delta = obj(event.delta);
        const item = itemAt(fold, event.index);
        // Nearly every event continues a text, and this is faster than `merge`.
        if (delta.type === 'text_delta' && typeof item.text === 'string') item.text += str(delta.text);
        else merge(item, delta.citation ? { citations: [delta.citation] } : delta);
        break;
      }
      case 'content_block_start':
        itemAt(fold, event.index, event.content_block);
        break;
      case 'message_start':
        return start(fold, event.message);
      case 'message_delta':
        // The token counts are cumulative: those of this event replace those of `message_start`.
        restate(restate(fold.body, event.delta), { usage: event.usage });
        break;
      case 'message_stop':
        fold.done = true;
        break;
      default:
        return event.type === 'content_block_stop' || event.type === 'ping';
    }
    return true;
  },
  close({ body }, blocks) {
    for (const block of blocks) {
      const type = str(block.type);
      // After a fallback to another model, a response without streaming names the model that answered. `message_start` names the requested model.
      if (type === 'fallback') body.model = obj(block.to).model ?? body.model;
      // When the start event of a block is missing, the block has the type of its first delta.
      if (type.endsWith('_delta')) block.type = type === 'input_json_delta' ? 'tool_use' : type.slice(0, -6);
      if (block.partial_json) {
        block.input = closeArguments(block.partial_json);
        delete block.partial_json;
      }
    }
    if (blocks.length > 0) body.content = blocks;
    return body as Obj;
  },
};

/** Anthropic Messages, also on Bedrock (InvokeModel) and Vertex. */
export const anthropicMessages: ApiDescription<'anthropic.messages'> = {
  api: 'anthropic.messages',
  recognise: (v) =>
    v.type === 'message' ||
    (Array.isArray(v.content) && (v.stop_reason || obj(v.usage).input_tokens !== undefined))
      ? 'body'
      : null,
  claimsError: ({ type }, error) => type === 'error' && error.param === undefined,
  streaming,
  readOwn(_, value, out) {
    addStopDetail(out, 'category', obj(value).category);
    addStopDetail(out, 'message', obj(value).explanation);
  },
};

/**
 * The field names of this API. They are the `case` labels in `body.ts`, `citations.ts`, `parts.ts` and `usage.ts`; `npm test -- test/parse/names -u`
 * writes them there.
 */
export const names: ApiNames = {
  body: {
    id: 'id',
    model: 'model',
    content: 'content',
    stopReason: 'stop_reason',
    sequence: 'stop_sequence',
    usage: 'usage',
    own: 'stop_details',
  },
  part: { signature: 'signature', sources: 'citations' },
  kind: {
    text: 'text',
    reasoning: 'thinking',
    redacted: 'redacted_thinking',
    call: 'tool_use',
    builtin: 'server_tool_use mcp_tool_use',
    compaction: 'compaction',
  },
  call: { id: 'id', name: 'name', input: 'input', extra: 'caller toolset_name' },
  source: { url: 'url', origin: 'source', title: 'title document_title', text: 'cited_text' },
  usage: {
    input: 'input_tokens',
    output: 'output_tokens',
    cacheRead: 'cache_read_input_tokens',
    cacheWrite: 'cache_creation_input_tokens',
    outputDetails: 'output_tokens_details',
    reasoning: 'thinking_tokens',
    tier: 'service_tier',
    serverTools: 'server_tool_use',
    iterations: 'iterations',
    cacheTtlObject: 'cache_creation',
  },
};
