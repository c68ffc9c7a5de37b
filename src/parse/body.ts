import type { ApiDescription } from './api.ts';
import { addAddresses, addCitations } from './citations.ts';
import { errorFrom } from './errors.ts';
import { millis, type Obj, obj, strOrNull } from './json.ts';
import { readContent, readMessage } from './message.ts';
import { addStopDetail } from './output.ts';
import { emptyOutput, type Output, type ParsedChoice, type ResponseFacts, warn } from './reading.ts';
import { readMetrics, readUsage } from './usage.ts';

/**
 * Reads the fields of a body or of one of its choices. It loops over the fields that the object has, because reading a field that
 * the object lacks is slow.
 *
 * A comment such as `// body.id` names the meaning of the `case` labels below it, a `BodyField` of `api.ts`. The labels are generated: see `ApiNames`.
 *
 * @param out The record or the choice that gets the content.
 * @param level The body or the choice.
 * @param isChoice False for a body with a list of choices: it has no content outside them. A body without such a list is a choice, too.
 */
function readLevel(
  api: ApiDescription,
  out: Output,
  level: Obj,
  record: ResponseFacts,
  isChoice: boolean,
): void {
  let message = level;
  let content: unknown;
  let text: unknown;
  let reason: unknown;
  let incomplete: unknown;
  let failure: unknown;
  let usage: unknown;
  let served: unknown;
  let metrics: unknown;
  for (const name in level) {
    const value = level[name];
    if (value == null) continue;
    switch (name) {
      // body.id
      case 'log_id':
      case 'id':
      case 'generation_id':
      case 'responseId':
        record.id ??= strOrNull(value);
        break;
      // body.model
      case 'model':
      case 'modelVersion':
        record.model = strOrNull(value);
        break;
      // body.content
      case 'content':
      case 'steps':
        content = value;
        break;
      // body.usage
      case 'usage':
      case 'usageMetadata':
        usage = value;
        break;
      // body.message
      case 'message':
        message = obj(value);
        break;
      // body.finishReason
      case 'finish_reason':
        reason = value;
        break;
      // body.stopReason
      case 'stop_reason':
      case 'stopReason':
      case 'finishReason':
      case 'completionReason':
      case 'done_reason':
        reason ??= obj(value).reason ?? value;
        break;
      // body.output
      case 'output':
        content ??= obj(obj(value).message).content ?? value;
        break;
      // body.text
      case 'completion':
      case 'outputs':
      case 'text':
      case 'generation':
      case 'outputText':
      case 'response':
        text ??= value;
        break;
      // body.textOfData
      case 'data':
        text ??= obj(value).text;
        break;
      // body.created
      case 'createTime':
      case 'created':
      case 'created_at':
        record.createdAt = millis(value);
        break;
      // body.tier
      case 'service_tier':
        record.serviceTier = strOrNull(value);
        break;
      // body.status
      case 'status':
        record.status = strOrNull(value);
        if (value === 'queued' || value === 'in_progress') record.complete = false;
        break;
      // body.incompleteDetails
      case 'incomplete_details':
      case 'status_details':
        incomplete = obj(value).reason;
        failure = obj(value).error;
        break;
      // body.error
      case 'error':
        // Some servers send an empty error object with a good response.
        if (Object.keys(value).length > 0) record.error ??= errorFrom(value);
        break;
      // body.sequence
      case 'stop':
      case 'stop_sequence':
        addStopDetail(out, 'sequence', value);
        break;
      // body.safety
      case 'amazon-bedrock-trace':
      case 'safetyRatings':
      case 'content_filter_results':
      case 'prompt_filter_results':
      case 'moderation':
        record.safety ??= value;
        break;
      // body.meta
      case 'meta':
        usage ??= value;
        break;
      // body.serverTools
      case 'tool_usage':
        served = value;
        break;
      // body.guardrail
      case 'amazon-bedrock-guardrailAction':
        if (value === 'INTERVENED') record.finish = 'content_filter';
        break;
      // body.metrics
      case 'metrics':
      case 'amazon-bedrock-invocationMetrics':
        metrics = value;
        break;
      // body.sources
      case 'search_results':
        out.citations = out.citations.filter(({ raw }) => typeof raw !== 'string');
        addCitations(out, value);
        break;
      // body.addresses
      case 'citations':
        addAddresses(out, value);
        break;
      // body.own
      case 'stop_details':
      case '$metadata':
      case 'ResponseMetadata':
      case 'serviceTier':
      case 'additionalModelResponseFields':
      case 'trace':
      case 'finishMessage':
      case 'citationMetadata':
      case 'groundingMetadata':
      case 'promptFeedback':
      case 'image':
      case 'total_duration':
        api.readOwn?.(name, value, out, record);
    }
  }
  if (usage) record.usage ??= readUsage(obj(usage), record);
  if (metrics) readMetrics(obj(metrics), record, 'invocation_metrics');
  if (record.usage && served) record.usage.serverTools = served;
  if (!isChoice) return;
  content ??= text;
  out.stopReason = strOrNull(
    typeof reason === 'number' ? String(reason) : (reason ?? incomplete ?? record.status),
  );
  if (record.status === 'failed') record.error ??= errorFrom(failure);
  if (message === level && typeof content !== 'string') readContent(out, content, record);
  else readMessage(out, message, content, record);
}

/** Reads a whole body of an API into the record. The record gets the content of the first choice. */
export function readBody(api: ApiDescription, given: Obj, record: ResponseFacts): void {
  const body = api.asSent?.(given) ?? given;
  const choices = api.choicesIn?.(body) ?? [body];
  const first = obj(choices[0]);
  readLevel(api, record, body, record, first === body);
  record.usage ??= readUsage(body, record);
  if (first !== body) readLevel(api, record, first, record, true);
  if (choices.length > 1) {
    warn(record.warnings, 'multiple_choices', choices.length);
    record.choices = choices.map((entry, position): ParsedChoice => {
      const choice = obj(entry);
      const out = emptyOutput();
      readLevel(api, out, choice, record, true);
      return { index: typeof choice.index === 'number' ? choice.index : position, ...out };
    });
  }
}
