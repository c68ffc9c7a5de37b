import { errorFrom } from './errors.ts';
import { isObject, list, millis, type Obj, obj, objects, str, strOrNull } from './json.ts';
import { addCitation, addReasoning, addRedacted, addRefusal, addStopDetail, addText } from './output.ts';
import { readBuiltin, readCall, readPart } from './parts.ts';
import { emptyOutput, type Output, type ParsedChoice, type ParsedResponse } from './record.ts';
import { readUsage } from './usage.ts';
import { warn } from './warn.ts';

function readError(error: unknown, record: ParsedResponse): void {
  // Some servers send an empty error with a good response.
  if (error && Object.keys(error).length > 0) record.error ??= errorFrom(error);
}

function readContent(content: unknown, out: Output, record: ParsedResponse): void {
  if (typeof content !== 'string') for (const part of objects(content)) readPart(part, out, record);
  else if (content) addText(out, content);
}

/** Reads a message of OpenAI chat: reasoning, content, and what is beside the content. */
function readMessage(message: Obj, content: unknown, out: Output, record: ParsedResponse): void {
  const { reasoning_details, refusal, audio, function_call } = message;
  const plain = str(message.reasoning_content) || str(message.reasoning);
  if (plain) addReasoning(out, plain).raw = reasoning_details;
  else {
    for (const detail of objects(reasoning_details)) {
      const text = str(detail.text ?? detail.summary);
      if (text) addReasoning(out, text, detail.signature);
      else addRedacted(out, detail);
    }
  }
  readContent(content, out, record);
  const last = out.content.at(-1);
  for (const source of objects(message.annotations ?? message.citations)) addCitation(out, last, source);
  if (refusal) addRefusal(out, str(refusal));
  if (audio) readPart({ audio }, out, record);
  for (const image of objects(message.images)) readPart(image, out, record);
  for (const call of objects(message.tool_calls)) {
    const { id, custom } = call;
    // Command-R has no object round the name.
    readCall(obj(custom ?? call.function ?? call), id, custom ? 'custom' : 'function', out);
  }
  if (isObject(function_call)) readCall(function_call, null, 'function', out);
  // Groq's compound models report the tools they ran themselves.
  for (const tool of objects(message.executed_tools)) readBuiltin(tool, null, '', tool.type, tool, out);
}

/** Reads a choice, a candidate, an output of a model family; or a body that is its own only choice. */
function readChoice(choice: Obj, out: Output, record: ParsedResponse): void {
  const message = obj(choice.message ?? obj(choice.output).message ?? choice);
  const content =
    message.content ??
    choice.output ??
    choice.steps ??
    choice.outputs ??
    choice.text ??
    choice.generation ??
    choice.outputText ??
    choice.completion ??
    obj(choice.data).text;
  const parts = isObject(content) ? content.parts : content;
  const reason = choice.finish_reason ?? choice.stop_reason ?? choice.stopReason ?? choice.finishReason;
  out.stopReason = strOrNull(
    obj(reason).reason ??
      reason ??
      choice.completionReason ??
      obj(choice.incomplete_details ?? choice.status_details).reason ??
      choice.status,
  );
  if (message !== choice || typeof parts === 'string') readMessage(message, parts, out, record);
  else readContent(parts, out, record);
  const { category, explanation } = obj(choice.stop_details);
  const { citations, citationSources } = obj(choice.citationMetadata);
  const grounding = choice.groundingMetadata;
  const safety = choice.content_filter_results ?? choice.safetyRatings;
  if (safety) record.safety ??= safety;
  if (grounding) record.grounding ??= grounding;
  addStopDetail(
    out,
    choice.stop_sequence ?? choice.stop ?? obj(choice.additionalModelResponseFields).stop_sequence,
    category,
    explanation ?? choice.finishMessage,
  );
  for (const source of objects(citations ?? citationSources)) addCitation(out, undefined, source);
  for (const source of objects(obj(grounding).groundingChunks)) addCitation(out, undefined, source);
  readError(choice.error, record);
}

/** Every choice of a body or of an event; a body without a list is its own only choice. */
export function choicesOf(body: Obj): readonly unknown[] {
  const choices = body.choices ?? body.candidates;
  if (choices || body.type || body.output || body.object) return list(choices ?? [body]);
  return list(body.results ?? body.outputs ?? body.generations ?? body.completions ?? [body]);
}

/**
 * Reads a whole body of any API; the first choice is the record itself. Providers have different names for the same
 * thing, but none uses a name in a meaning of its own, so no API needs a reader of its own.
 */
export function readBody(body: Obj, record: ParsedResponse): void {
  const { status, error, tool_usage } = body;
  const { warnings } = record;
  const { guardrail, promptRouter } = obj(body.trace);
  const { latencyMs } = obj(body.metrics);
  const usage = obj(body.usage ?? body.usageMetadata ?? obj(body.meta).billed_units ?? body);
  const safety = body.prompt_filter_results ?? body.moderation ?? guardrail;
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
  record.usage = readUsage(usage, warnings);
  if (record.usage && tool_usage) record.usage.serverTools = tool_usage;
  if (status === 'queued' || status === 'in_progress') record.complete = false;
  if (typeof latencyMs === 'number') record.latencyMs = latencyMs;
  if (safety) record.safety = safety;
  readError(error, record);
  readChoice(obj(choices[0]), record, record);
  if (choices.length > 1) {
    warn(warnings, 'multiple_choices', choices.length);
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
  const { blockReason, blockReasonMessage } = obj(body.promptFeedback);
  if (!blockReason) return;
  record.finish = 'content_filter';
  record.safety = body.promptFeedback;
  addStopDetail(record, null, blockReason, blockReasonMessage);
}
