import type { ApiReader, Fold, Folded, Taken } from './api.ts';
import { type Draft, firstKey, isObject, list, type Obj, obj, str, strOrNull, tryJson } from './json.ts';
import {
  addCitation,
  addFunction,
  addMedia,
  addOther,
  addReasoning,
  addRedacted,
  addText,
  addTool,
  addToolResult,
} from './output.ts';
import type { Output, ParsedResponse, Warning } from './record.ts';
import { converseUsage } from './usage.ts';
import { warn } from './warn.ts';

const MEDIA = ['image', 'document', 'video', 'audio'] as const;
const SILENT = new Set(['guardContent', 'cachePoint', 'searchResult', 'toolAddition', 'toolRemoval']);

function readReasoning(content: Obj, out: Output): void {
  if (content.redactedContent !== undefined) {
    addRedacted(out, content);
    return;
  }
  const text = isObject(content.reasoningText) ? content.reasoningText : content;
  addReasoning(out, str(text.text), text.signature);
}

function readBlock(block: Obj, out: Output, warnings: Warning[]): void {
  if (typeof block.text === 'string') addText(out, block.text);
  else if (isObject(block.toolUse)) {
    const { toolUseId, name, input, type } = block.toolUse;
    if (type === 'server_tool_use')
      addTool(out, toolUseId, name, input, 'server', 'builtin').raw = block.toolUse;
    else addFunction(out, toolUseId, name, input);
  } else if (isObject(block.reasoningContent)) readReasoning(block.reasoningContent, out);
  else if (isObject(block.toolResult)) {
    const { toolUseId, content, status } = block.toolResult;
    addToolResult(out, toolUseId, content, status === 'error', block.toolResult);
  } else if (isObject(block.citationsContent)) {
    let text = '';
    for (const part of list(block.citationsContent.content)) text += str(obj(part).text);
    const part = addText(out, text);
    for (const entry of list(block.citationsContent.citations)) {
      const citation = obj(entry);
      const place = obj(citation.location);
      const source = obj(place[firstKey(place, Object.keys(place)) ?? '']);
      addCitation(
        out,
        part,
        citation,
        { ...source, title: citation.title },
        obj(list(citation.sourceContent)[0]).text,
      );
    }
  } else readRest(block, out, warnings);
}

function readRest(block: Obj, out: Output, warnings: Warning[]): void {
  const media = firstKey(block, MEDIA);
  if (media !== undefined) {
    const { format, source } = obj(block[media]);
    addMedia(out, `${media}/${str(format)}`, obj(source).bytes ?? source, block[media]);
    return;
  }
  const kind = Object.keys(block).find((key) => key !== 'type') ?? '';
  addOther(out, kind, block);
  if (!SILENT.has(kind)) warn(warnings, 'unknown_block', `content member ${kind}`);
}

function read(body: Obj, record: ParsedResponse): void {
  record.stopReason = strOrNull(body.stopReason);
  record.id = strOrNull(obj(body.$metadata).requestId);
  if (isObject(body.trace)) {
    record.model = strOrNull(obj(body.trace.promptRouter).invokedModelId);
    record.safety = body.trace.guardrail;
  }
  if (isObject(body.usage)) record.usage = converseUsage(body.usage, record.warnings);
  const latency = obj(body.metrics).latencyMs;
  if (typeof latency === 'number') record.latencyMs = latency;
  if (body.serviceTier) record.serviceTier = strOrNull(obj(body.serviceTier).type ?? body.serviceTier);
  for (const block of list(obj(obj(body.output).message).content))
    readBlock(obj(block), record, record.warnings);
  const sequence = obj(body.additionalModelResponseFields).stop_sequence;
  if (typeof sequence === 'string') record.stopDetail = { sequence };
}

/** One content block under construction. */
interface Block {
  text: string | null;
  reasoning: Draft | null;
  tool: Draft | null;
  input: string;
  result: Draft | null;
  results: unknown[];
  citations: unknown[];
  image: Draft | null;
  other: Obj | null;
}

function emptyBlock(): Block {
  return {
    text: null,
    reasoning: null,
    tool: null,
    input: '',
    result: null,
    results: [],
    citations: [],
    image: null,
    other: null,
  };
}

function pushDelta(block: Block, delta: Obj): void {
  if (typeof delta.text === 'string') block.text = (block.text ?? '') + delta.text;
  else if (isObject(delta.toolUse)) {
    block.tool ??= {};
    if (typeof delta.toolUse.input === 'string') block.input += delta.toolUse.input;
    else if (isObject(delta.toolUse.input)) block.tool.input = delta.toolUse.input;
  } else if (isObject(delta.reasoningContent)) {
    const { text, signature, redactedContent } = delta.reasoningContent;
    block.reasoning ??= {};
    if (typeof text === 'string') block.reasoning.text = str(block.reasoning.text) + text;
    if (signature !== undefined) block.reasoning.signature = signature;
    if (redactedContent !== undefined) block.reasoning.redactedContent = redactedContent;
  } else if (Array.isArray(delta.toolResult)) {
    block.result ??= {};
    for (const entry of delta.toolResult) block.results.push(entry);
  } else if (delta.citation !== undefined) block.citations.push(delta.citation);
  else if (isObject(delta.image)) block.image = { ...block.image, ...delta.image };
  else block.other = delta;
}

function closeBlock(block: Block): Obj {
  if (block.tool !== null) {
    const input = block.input === '' ? (block.tool.input ?? {}) : (tryJson(block.input) ?? block.input);
    return { toolUse: { ...block.tool, input } };
  }
  if (block.reasoning !== null) {
    const { redactedContent, ...reasoningText } = block.reasoning;
    return { reasoningContent: redactedContent === undefined ? { reasoningText } : { redactedContent } };
  }
  if (block.result !== null) return { toolResult: { ...block.result, content: block.results } };
  if (block.image !== null) return { image: block.image };
  if (block.citations.length > 0) {
    return { citationsContent: { content: [{ text: block.text ?? '' }], citations: block.citations } };
  }
  return block.text === null && block.other !== null ? block.other : { text: block.text ?? '' };
}

class ConverseFold implements Fold {
  private readonly body: Draft = {};
  private readonly blocks = new Map<unknown, Block>();
  private stopped = false;
  private role: unknown;

  push(event: Obj): Taken {
    const delta = event.contentBlockDelta;
    if (isObject(delta)) {
      pushDelta(this.block(delta.contentBlockIndex), obj(delta.delta));
      return 'taken';
    }
    if (isObject(event.contentBlockStart)) {
      const { contentBlockIndex, start } = event.contentBlockStart;
      const block = this.block(contentBlockIndex);
      const { toolUse, toolResult, image } = obj(start);
      if (isObject(toolUse)) block.tool = { ...toolUse };
      if (isObject(toolResult)) block.result = { ...toolResult };
      if (isObject(image)) block.image = { ...image };
      return 'taken';
    }
    if (isObject(event.messageStart)) {
      if (this.stopped || this.blocks.size > 0) return 'restart';
      this.role = event.messageStart.role;
      return 'taken';
    }
    if (isObject(event.messageStop)) {
      Object.assign(this.body, event.messageStop);
      this.stopped = true;
      return 'taken';
    }
    if (isObject(event.metadata)) {
      Object.assign(this.body, event.metadata);
      return 'taken';
    }
    return event.contentBlockStop === undefined ? 'foreign' : 'taken';
  }

  private block(index: unknown): Block {
    let block = this.blocks.get(index);
    if (block === undefined) {
      block = emptyBlock();
      this.blocks.set(index, block);
    }
    return block;
  }

  end(): Folded {
    const message = { role: this.role, content: [...this.blocks.values()].map(closeBlock) };
    const complete = this.stopped && (this.body.usage !== undefined || this.body.metrics !== undefined);
    return { body: { ...this.body, output: { message } }, complete };
  }
}

const EVENTS = [
  'messageStart',
  'contentBlockStart',
  'contentBlockDelta',
  'contentBlockStop',
  'messageStop',
] as const;

/** Bedrock Converse and ConverseStream; Nova's InvokeModel bodies have the same shape. */
export const bedrockConverse: ApiReader = {
  api: 'bedrock.converse',
  provider: 'bedrock',
  recognise(value) {
    if (isObject(value.output) && isObject(value.output.message)) return 'body';
    if (typeof value.stopReason === 'string' && isObject(value.usage)) return 'body';
    if (firstKey(value, EVENTS) !== undefined) return 'event';
    const metadata = obj(value.metadata);
    return metadata.usage !== undefined && metadata.metrics !== undefined ? 'event' : null;
  },
  read,
  fold: () => new ConverseFold(),
};
