import { errorFrom } from './errors.ts';
import { isObject, list, millis, type Obj, obj, objects, str, strOrNull } from './json.ts';
import { addCitation, addReasoning, addRedacted, addRefusal, addStopDetail, addText } from './output.ts';
import { readBuiltin, readCall, readPart } from './parts.ts';
import { emptyOutput, type Output, type ParsedChoice, type ParsedResponse } from './record.ts';
import { readUsage } from './usage.ts';
import { warn } from './warn.ts';

function readReasoning(message: Obj, out: Output): void {
  const plain = str(message.reasoning_content) || str(message.reasoning);
  const details = objects(message.reasoning_details);
  if (plain) addReasoning(out, plain).raw = details;
  else {
    for (const detail of details) {
      const text = str(detail.text ?? detail.summary);
      if (text) addReasoning(out, text, detail.signature);
      else addRedacted(out, detail);
    }
  }
}

function readToolCalls(message: Obj, out: Output): void {
  const legacy = message.function_call;
  for (const call of objects(message.tool_calls)) {
    const { id, custom } = call;
    // Command-R has no object round the name.
    readCall(obj(custom ?? call.function ?? call), id, custom ? 'custom' : 'function', out);
  }
  if (isObject(legacy)) readCall(legacy, null, 'function', out);
  // Groq's compound models report the tools they ran themselves.
  for (const tool of objects(message.executed_tools)) readBuiltin(tool, null, '', tool.type, tool, out);
}

function readError(error: unknown, record: ParsedResponse): void {
  // Some servers send an empty error with a good response.
  if (error && Object.keys(error).length > 0) record.error ??= errorFrom(error);
}

/** Reads what a message of OpenAI chat has beside its content. */
function readExtras(message: Obj, out: Output, record: ParsedResponse): void {
  const sources = message.annotations ?? message.citations;
  const last = out.content.at(-1);
  for (const source of objects(sources)) addCitation(out, last, source);
  if (message.refusal) addRefusal(out, str(message.refusal));
  if (message.audio) readPart({ audio: message.audio }, out, record);
  for (const image of objects(message.images)) readPart(image, out, record);
  readToolCalls(message, out);
}

/** Reads a choice, a candidate, an output of a model family; or a body that is its own only choice. */
function readChoice(choice: Obj, out: Output, record: ParsedResponse): void {
  const message = obj(choice.message ?? obj(choice.output).message ?? choice);
  const content =
    message.content ??
    choice.output ??
    choice.steps ??
    choice.text ??
    choice.generation ??
    choice.outputText ??
    choice.completion ??
    obj(choice.data).text;
  const parts = isObject(content) ? content.parts : content;
  const reason = choice.finish_reason ?? choice.stop_reason ?? choice.stopReason ?? choice.finishReason;
  const incomplete = obj(choice.incomplete_details ?? choice.status_details);
  const details = obj(choice.stop_details);
  const grounding = choice.groundingMetadata;
  const { citations, citationSources } = obj(choice.citationMetadata);
  out.stopReason = strOrNull(
    obj(reason).reason ?? reason ?? choice.completionReason ?? incomplete.reason ?? choice.status,
  );
  addStopDetail(
    out,
    choice.stop_sequence ?? choice.stop ?? obj(choice.additionalModelResponseFields).stop_sequence,
    details.category,
    details.explanation ?? choice.finishMessage,
  );
  const safety = choice.content_filter_results ?? choice.safetyRatings;
  if (safety) record.safety ??= safety;
  readReasoning(message, out);
  if (typeof parts === 'string') {
    if (parts) addText(out, parts);
  } else if (parts) for (const part of objects(parts)) readPart(part, out, record);
  if (message !== choice || typeof parts === 'string') readExtras(message, out, record);
  if (grounding) record.grounding ??= grounding;
  for (const source of objects(citations ?? citationSources)) addCitation(out, undefined, source);
  for (const source of objects(obj(grounding).groundingChunks)) addCitation(out, undefined, source);
  readError(choice.error, record);
}

/** Every choice of a body or of an event; a body without a list is its own only choice. */
export function choicesOf(body: Obj): readonly unknown[] {
  const choices = body.choices ?? body.candidates;
  if (choices || body.object) return list(choices ?? [body]);
  return list(body.results ?? body.outputs ?? body.generations ?? body.completions ?? [body]);
}

/**
 * Reads a whole body of any API; the first choice is the record itself. Providers have different names for the same
 * thing, but none uses a name in a meaning of its own, so no API needs a reader of its own.
 */
export function readBody(body: Obj, record: ParsedResponse): void {
  const { status, promptFeedback, tool_usage } = body;
  const { guardrail, promptRouter } = obj(body.trace);
  const usage = obj(body.usage ?? body.usageMetadata ?? obj(body.meta).billed_units ?? body);
  const { latencyMs } = obj(body.metrics);
  const { blockReason, blockReasonMessage } = obj(promptFeedback);
  const choices = choicesOf(body);
  record.id = strOrNull(
    body.id ??
      body.responseId ??
      body.generation_id ??
      obj(body.$metadata).requestId ??
      obj(body.ResponseMetadata).RequestId,
  );
  record.model = strOrNull(body.model ?? body.modelVersion ?? obj(promptRouter).invokedModelId);
  record.createdAt = millis(body.created ?? body.created_at ?? body.createTime);
  record.serviceTier = strOrNull(
    body.service_tier ??
      usage.service_tier ??
      obj(body.serviceTier).type ??
      usage.serviceTier ??
      usage.trafficType,
  );
  record.status = strOrNull(status);
  if (status === 'queued' || status === 'in_progress') record.complete = false;
  record.usage = readUsage(usage, record.warnings);
  if (record.usage && tool_usage) record.usage.serverTools = tool_usage;
  if (typeof latencyMs === 'number') record.latencyMs = latencyMs;
  const safety = body.prompt_filter_results ?? body.moderation ?? guardrail;
  if (safety) record.safety = safety;
  readError(body.error, record);
  readChoice(obj(choices[0]), record, record);
  if (choices.length > 1) {
    warn(record.warnings, 'multiple_choices', choices.length);
    record.choices = choices.map((entry, position): ParsedChoice => {
      const choice = obj(entry);
      const out = emptyOutput();
      readChoice(choice, out, record);
      return { index: typeof choice.index === 'number' ? choice.index : position, ...out };
    });
  }
  // Only a fold makes such a body.
  if (record.api === 'gemini.live') Object.assign(record, body.facts);
  if (status === 'failed') record.error ??= errorFrom(obj(body.status_details).error);
  if (!blockReason) return;
  record.finish = 'content_filter';
  addStopDetail(record, null, blockReason, blockReasonMessage);
  record.safety = promptFeedback;
}
