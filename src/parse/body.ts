import { errorFrom } from './errors.ts';
import { type Draft, list, millis, type Obj, obj, strOrNull } from './json.ts';
import { readContent, readMessage } from './message.ts';
import { addCitations, addStopDetail } from './output.ts';
import { emptyOutput, type Output, type ParsedChoice, type ParsedResponse } from './record.ts';
import { readMetrics, readUsage } from './usage.ts';
import { warn } from './warn.ts';

/** Takes what Bedrock adds to the events of every model family, and tells whether it added anything. */
export function noteBedrock(event: Obj, body: Draft): boolean {
  let added = false;
  for (const name in event) {
    if (!name.startsWith('amazon-')) continue;
    body[name] = event[name];
    added = true;
  }
  return added;
}

/**
 * Reads what a body says of itself, and what it says as a choice unless it has a list of them; or what a choice, a
 * candidate, an output of a model family says. Providers have different names for the same thing, but none uses a name
 * in a meaning of its own, so no API needs a reader of its own. Readers go through the names that an object has:
 * asking objects of many shapes for names that they lack is slow.
 */
function readLevel(out: Output, level: Obj, record: ParsedResponse, isChoice: boolean): void {
  let message = level;
  let content: unknown;
  let said: unknown;
  let reason: unknown;
  let because: unknown;
  let failure: unknown;
  let usage: unknown;
  let served: unknown;
  let metrics: unknown;
  for (const name in level) {
    const value = level[name];
    if (value == null) continue;
    switch (name) {
      case 'id':
      case 'responseId':
      case 'generation_id':
        record.id ??= strOrNull(value);
        break;
      case 'model':
      case 'modelVersion':
        record.model = strOrNull(value);
        break;
      case 'content':
      case 'steps':
        content = value;
        break;
      case 'usage':
      case 'usageMetadata':
        usage = value;
        break;
      case 'message':
        message = obj(value);
        break;
      case 'finish_reason':
        reason = value;
        break;
      case 'stop_reason':
      case 'stopReason':
      case 'finishReason':
      case 'completionReason':
        reason ??= obj(value).reason ?? value;
        break;
      case 'output':
        content ??= obj(obj(value).message).content ?? value;
        break;
      case 'outputs':
      case 'text':
      case 'generation':
      case 'outputText':
      case 'completion':
        said ??= value;
        break;
      case 'data':
        said ??= obj(value).text;
        break;
      case 'created':
      case 'created_at':
      case 'createTime':
        record.createdAt = millis(value);
        break;
      case 'service_tier':
        record.serviceTier = strOrNull(value);
        break;
      case 'serviceTier':
        record.serviceTier = strOrNull(obj(value).type);
        break;
      case 'status':
        record.status = strOrNull(value);
        if (value === 'queued' || value === 'in_progress') record.complete = false;
        break;
      case 'incomplete_details':
      case 'status_details':
        because = obj(value).reason;
        failure = obj(value).error;
        break;
      case 'error':
        // Some servers send an empty error with a good response.
        if (Object.keys(value).length > 0) record.error ??= errorFrom(value);
        break;
      case 'stop_sequence':
      case 'stop':
        addStopDetail(out, 'sequence', value);
        break;
      case 'additionalModelResponseFields':
        addStopDetail(out, 'sequence', obj(value).stop_sequence);
        break;
      case 'stop_details':
        addStopDetail(out, 'category', obj(value).category);
        addStopDetail(out, 'message', obj(value).explanation);
        break;
      case 'finishMessage':
        addStopDetail(out, 'message', value);
        break;
      case 'content_filter_results':
      case 'safetyRatings':
      case 'prompt_filter_results':
      case 'moderation':
      case 'amazon-bedrock-trace':
        record.safety ??= value;
        break;
      case 'citationMetadata':
        addCitations(out, obj(value).citations ?? obj(value).citationSources);
        break;
      case 'groundingMetadata':
        record.grounding ??= value;
        addCitations(out, obj(value).groundingChunks);
        break;
      case '$metadata':
      case 'ResponseMetadata':
        record.id ??= strOrNull(obj(value).requestId ?? obj(value).RequestId);
        break;
      case 'trace': {
        const { guardrail, promptRouter } = obj(value);
        if (guardrail) record.safety ??= guardrail;
        record.model ??= strOrNull(obj(promptRouter).invokedModelId);
        break;
      }
      case 'promptFeedback': {
        const { blockReason, blockReasonMessage } = obj(value);
        if (blockReason) {
          record.finish = 'content_filter';
          record.safety = value;
          addStopDetail(out, 'category', blockReason);
          addStopDetail(out, 'message', blockReasonMessage);
        }
        break;
      }
      case 'meta':
        usage = obj(value).billed_units;
        break;
      case 'tool_usage':
        served = value;
        break;
      case 'amazon-bedrock-guardrailAction':
        if (value === 'INTERVENED') record.finish = 'content_filter';
        break;
      case 'metrics':
      case 'amazon-bedrock-invocationMetrics':
        metrics = value;
    }
  }
  if (usage) record.usage ??= readUsage(obj(usage), record);
  if (metrics) readMetrics(obj(metrics), record, 'invocation_metrics');
  if (record.usage && served) record.usage.serverTools = served;
  if (!isChoice) return;
  content ??= said;
  out.stopReason = strOrNull(reason ?? because ?? record.status);
  if (record.status === 'failed') record.error ??= errorFrom(failure);
  if (message === level && typeof content !== 'string') readContent(out, content, record);
  else readMessage(out, message, content, record);
}

/** Every choice of a body or of an event; a body without a list is its own only choice. */
export function choicesOf(body: Obj): readonly unknown[] {
  return list(
    body.choices ??
      body.candidates ??
      // A body of a model family has no name for what it is.
      (body.type || body.output || body.object
        ? [body]
        : (body.results ?? body.outputs ?? body.generations ?? body.completions ?? [body])),
  );
}

/** Reads a whole body of any API; the first choice is the record itself. */
export function readBody(body: Obj, record: ParsedResponse): void {
  const choices = choicesOf(body);
  const first = obj(choices[0]);
  readLevel(record, body, record, first === body);
  record.usage ??= readUsage(body, record);
  if (first !== body) readLevel(record, first, record, true);
  if (choices.length > 1) {
    warn(record.warnings, 'multiple_choices', choices.length);
    record.choices = choices.map((entry, position): ParsedChoice => {
      const choice = obj(entry);
      const out = emptyOutput();
      readLevel(out, choice, record, true);
      return { index: typeof choice.index === 'number' ? choice.index : position, ...out };
    });
  }
}
