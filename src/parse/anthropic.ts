import type { ApiReader, Fold, Folded, Taken } from './api.ts';
import { type Draft, isObject, list, type Obj, obj, str, strOrNull, tryJson } from './json.ts';
import {
  addCitation,
  addFunction,
  addOther,
  addReasoning,
  addRedacted,
  addText,
  addTool,
  addToolResult,
} from './output.ts';
import type { Output, ParsedResponse, Warning } from './record.ts';
import { anthropicUsage } from './usage.ts';
import { warn } from './warn.ts';

const SILENT = new Set(['container_upload', 'fallback', 'mcp_tool_listing', 'mcp_list_tools']);

function readBlock(block: Obj, out: Output, warnings: Warning[]): void {
  const type = str(block.type);
  switch (type) {
    case 'text': {
      const part = addText(out, str(block.text));
      if (block.citations) {
        for (const entry of list(block.citations)) {
          const citation = obj(entry);
          addCitation(out, part, citation, citation, citation.cited_text);
        }
      }
      return;
    }
    case 'thinking':
      addReasoning(out, str(block.thinking), block.signature);
      return;
    case 'redacted_thinking':
      addRedacted(out, block);
      return;
    case 'tool_use': {
      const use = addFunction(out, block.id, block.name, block.input);
      if (block.caller || block.toolset_name) use.raw = block;
      return;
    }
    case 'server_tool_use':
    case 'mcp_tool_use': {
      const kind = type === 'mcp_tool_use' ? 'mcp' : 'builtin';
      addTool(out, block.id, block.name, block.input, 'server', kind).raw = block;
      return;
    }
    case 'compaction':
      out.content.push({ type: 'compaction', text: strOrNull(block.content), raw: block });
      return;
  }
  if (type.endsWith('_tool_result')) {
    const failed = block.is_error === true || str(obj(block.content).type).endsWith('_error');
    addToolResult(out, block.tool_use_id, block.content, failed, block);
    return;
  }
  addOther(out, type, block);
  if (!SILENT.has(type)) warn(warnings, 'unknown_block', `content block ${type}`);
}

function read(body: Obj, record: ParsedResponse): void {
  record.id = strOrNull(body.id);
  record.model = strOrNull(body.model);
  record.stopReason = strOrNull(body.stop_reason);
  const usage = body.usage;
  if (isObject(usage)) {
    record.usage = anthropicUsage(usage, record.warnings);
    record.serviceTier = strOrNull(usage.service_tier);
  }
  const content = body.content;
  if (typeof content === 'string') addText(record, content);
  else for (const block of list(content)) readBlock(obj(block), record, record.warnings);
  if (body.stop_sequence) record.stopDetail = { sequence: str(body.stop_sequence) };
  if (isObject(body.stop_details)) {
    const { category, explanation } = body.stop_details;
    record.stopDetail = { ...record.stopDetail };
    if (typeof category === 'string') record.stopDetail.category = category;
    if (typeof explanation === 'string') record.stopDetail.message = explanation;
  }
}

function pushDelta(block: Draft, delta: Obj): void {
  switch (delta.type) {
    case 'text_delta':
      block.text = str(block.text) + str(delta.text);
      return;
    case 'input_json_delta':
      block.partial = str(block.partial) + str(delta.partial_json);
      return;
    case 'thinking_delta':
      block.thinking = str(block.thinking) + str(delta.thinking);
      return;
    case 'signature_delta':
      block.signature = str(delta.signature);
      return;
    case 'citations_delta':
      if (Array.isArray(block.citations)) block.citations.push(delta.citation);
      else block.citations = [delta.citation];
      return;
    case 'compaction_delta':
      if (typeof delta.content === 'string') block.content = str(block.content) + delta.content;
      if (delta.encrypted_content) block.encrypted_content = delta.encrypted_content;
  }
}

/** Tool input arrives as JSON text; broken text is left for the reader to flag. */
function closeBlock({ partial, ...block }: Draft): Draft {
  if (typeof partial === 'string' && partial !== '') block.input = tryJson(partial) ?? partial;
  return block;
}

class MessageFold implements Fold {
  private message: Draft | null = null;
  private usage: Draft = {};
  private readonly blocks = new Map<unknown, Draft>();
  private stopped = false;

  push(event: Obj, warnings: Warning[]): Taken {
    switch (event.type) {
      case 'content_block_delta': {
        const block = this.blocks.get(event.index) ?? this.open(event.index, { type: deltaBlockType(event) });
        pushDelta(block, obj(event.delta));
        return 'taken';
      }
      case 'content_block_start':
        this.open(event.index, { ...obj(event.content_block) });
        return 'taken';
      case 'message_start': {
        if (this.blocks.size > 0 || this.stopped) return 'restart';
        if (this.message !== null) warn(warnings, 'stream_duplicate_start', 'message_start came twice');
        const { content, ...message } = obj(event.message);
        this.message = message;
        this.usage = { ...obj(message.usage) };
        for (const [i, block] of list(content).entries()) this.open(i, { ...obj(block) });
        return 'taken';
      }
      case 'message_delta': {
        this.message = { ...this.message, ...obj(event.delta) };
        // Cumulative: a count that is stated again replaces the one from the start.
        const usage = obj(event.usage);
        for (const key in usage) if (usage[key] !== null && key !== '__proto__') this.usage[key] = usage[key];
        if (event.context_management) this.message.context_management = event.context_management;
        return 'taken';
      }
      case 'message_stop':
        this.stopped = true;
        return 'taken';
      case 'content_block_stop':
      case 'ping':
        return 'taken';
    }
    return 'foreign';
  }

  private open(index: unknown, block: Draft): Draft {
    if (Array.isArray(block.citations)) block.citations = [...block.citations];
    // A whole response names the model that answered, not the one that was asked.
    if (block.type === 'fallback' && obj(block.to).model) {
      this.message = { ...this.message, model: obj(block.to).model };
    }
    this.blocks.set(index, block);
    return block;
  }

  end(): Folded {
    const content = [...this.blocks.values()].map(closeBlock);
    return { body: { type: 'message', ...this.message, content, usage: this.usage }, complete: this.stopped };
  }
}

function deltaBlockType(event: Obj): string {
  const type = str(obj(event.delta).type);
  return type.startsWith('input_json') ? 'tool_use' : type.startsWith('thinking') ? 'thinking' : 'text';
}

const EVENT = /^(message_(start|delta|stop)|content_block_(start|delta|stop)|ping)$/;

/** Anthropic Messages, also behind Bedrock InvokeModel and Vertex. */
export const anthropicMessages: ApiReader = {
  api: 'anthropic.messages',
  provider: 'anthropic',
  recognise(value) {
    if (value.type === 'message') return 'body';
    if (typeof value.type === 'string' && EVENT.test(value.type)) return 'event';
    if (!Array.isArray(value.content)) return null;
    return obj(value.usage).input_tokens !== undefined || value.stop_reason !== undefined ? 'body' : null;
  },
  read,
  fold: () => new MessageFold(),
};
