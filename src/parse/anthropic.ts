import { closeArguments, itemAt, restate, type Streaming, start } from './fold.ts';
import { type Obj, obj, str } from './json.ts';
import { merge } from './merge.ts';

/** Anthropic Messages, also behind Bedrock InvokeModel and Vertex. */
export const anthropicStreaming: Streaming = {
  take(fold, event) {
    switch (event.type) {
      case 'content_block_delta': {
        const delta = obj(event.delta);
        const item = itemAt(fold, event.index);
        // Nearly every event only continues a text.
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
        // Cumulative: what is stated again replaces what the start said.
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
    return body as Obj;
  },
};
