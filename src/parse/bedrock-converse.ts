import { closeArguments, itemAt, restate, type Streaming, start } from './fold.ts';
import { type Draft, isObject, obj } from './json.ts';
import { merge } from './merge.ts';

/** Bedrock ConverseStream; Nova's InvokeModel streams have the same shape. */
export const converseStreaming: Streaming = {
  take(fold, event) {
    const block = event.contentBlockDelta ?? event.contentBlockStart;
    if (block) {
      const { delta, start: opening, contentBlockIndex } = obj(block);
      const piece = obj(delta ?? opening);
      const item = itemAt(fold, contentBlockIndex);
      const { text, citation, toolResult } = piece;
      // Citations and results grow as lists; the rest of a delta has the shape of its block.
      if (typeof text === 'string' && typeof item.text === 'string') item.text += text;
      else if (citation) merge(item, { citations: [citation] });
      else if (Array.isArray(toolResult)) merge(item, { toolResult: { content: toolResult } });
      else merge(item, piece);
      return true;
    }
    if (event.messageStart) return start(fold, null);
    if (event.metadata && (fold.items.size > 0 || obj(event.metadata).metrics)) {
      // The counts come last.
      restate(fold.body, event.metadata);
      fold.done = true;
    } else if (event.messageStop) restate(fold.body, event.messageStop);
    else return Boolean(event.contentBlockStop);
    return true;
  },
  close({ body }, blocks) {
    for (const { toolUse } of blocks) {
      if (isObject(toolUse)) (toolUse as Draft).input = closeArguments(toolUse.input);
    }
    body.output = { message: { content: blocks } };
    return body;
  },
};
