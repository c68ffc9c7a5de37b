import type { ApiDescription } from './api.ts';
import type { Api } from './apis/index.ts';
import { awsFraming } from './aws-event-stream.ts';
import { readBody } from './body.ts';
import { inside, recognise } from './detect.ts';
import { errorOf } from './errors.ts';
import { addBedrockFields, emptyFold, type Fold, type Streaming } from './fold.ts';
import { type Framing, jsonFraming, sseFraming } from './frames.ts';
import { bytesOf, isObject, type Obj, obj, tryJson, utf8Of } from './json.ts';
import { warn } from './reading.ts';
import { emptyRecord, nameApi, type ParsedResponse } from './record.ts';
import { excerpt, failureRecord, type ParseOptions, settle } from './settle.ts';

/**
 * Collects the pieces of one stream and reads them into one record. A piece may have any size, and a piece of bytes may end inside
 * a character. Create one accumulator for each stream.
 */
export interface Accumulator {
  /**
   * Adds the next piece: text, bytes, one decoded event or a list of events. Returns the accumulator. It never throws for plain
   * data; reading a proxy or an object with getters can throw.
   */
  push(input: unknown): Accumulator;
  /**
   * Ends the stream and returns the record. Call it once, after the last `push`. When the stream was cut, the record holds
   * everything that had arrived, and `complete` is false.
   */
  end(): ParsedResponse;
}

/** Decodes the event inside a chunk of a Bedrock InvokeModel stream. `bytes` is base64 text or a byte array with the JSON of the event. */
function chunkEvent(bytes: unknown): unknown {
  try {
    const raw =
      typeof bytes === 'string' ? Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0)) : bytesOf(bytes);
    return raw && tryJson(utf8Of(raw));
  } catch {
    return null;
  }
}

/** How many wrapper objects may surround a response. */
const MAX_WRAPPERS = 3;

/**
 * Creates an accumulator for a stream that arrives in pieces. A program that has the whole stream as one source calls
 * `parseStream` instead.
 *
 * @param given As for `parse`; a string is the provider's name.
 *
 * @example
 * const accumulator = createAccumulator('openai');
 * socket.on('data', (bytes) => accumulator.push(bytes));
 * socket.on('close', () => save(accumulator.end()));
 */
export function createAccumulator(given: ParseOptions | string = {}): Accumulator {
  const options = typeof given === 'string' ? { provider: given } : given;
  const record = emptyRecord();
  const { warnings } = record;
  let bedrock = false;
  let api: Api | null = null;
  let description: ApiDescription | null = null;
  let fold: Fold | null = null;
  let streaming: Streaming | null = null;
  let body: Obj | null = null;
  let text: Framing<string> | null = null;
  let binary: Framing<Uint8Array> | null = null;
  let utf8: TextDecoder | null = null;
  let sample = '';
  /** False once server-sent events have begun, until their end marker `[DONE]` arrives. */
  let done = true;
  let cut = false;

  const sink = {
    event(value: unknown) {
      // Some recordings hold a list of events in the place of a single event.
      if (Array.isArray(value)) value.forEach(pushEvent);
      else pushEvent(value);
    },
    done() {
      done = true;
    },
    broken(what: string) {
      warn(warnings, 'stream_corrupt', excerpt(what));
      sample ||= what;
      cut = true;
    },
  };

  function read(whole: Obj, complete: boolean): void {
    if (!api || !description) return;
    if (body) {
      // The stream has several responses. The record joins their texts and calls. The fields cleared here come from the last response alone.
      warn(
        warnings,
        'multiple_responses',
        'this record joins all of them; parseBatch returns one record for each',
      );
      record.finish = record.id = record.status = record.usage = null;
      delete record.stopDetail;
      delete record.choices;
    }
    body = whole;
    nameApi(record, api);
    record.complete = complete;
    readBody(description, whole, record);
  }

  function close(): void {
    if (!fold || !streaming) return;
    const whole = streaming.close(fold, [...fold.items.values()]);
    read(whole, fold.done);
    Object.assign(record, fold.facts);
    fold = null;
  }

  function open(event: Obj, depth = 0): void {
    const match = recognise(event);
    if (!match) {
      const failed = errorOf(event);
      const inner = inside(event);
      sample ||= `{${Object.keys(event)}}`;
      if (failed) {
        cut = true;
        if (!api && failed.api) nameApi(record, failed.api);
        record.error ??= failed.error;
      } else if (inner && depth < MAX_WRAPPERS) open(inner, depth + 1);
      return;
    }
    if (match.as === 'body' || api !== match.api) close();
    api = match.api;
    description = match.description;
    if (match.as === 'body') {
      read(event, true);
      return;
    }
    record.streamed = true;
    fold ??= emptyFold(api, warnings);
    streaming = description.streaming;
    streaming.take(fold, event);
    if (fold.done) addBedrockFields(event, fold.body);
  }

  function pushEvent(event: unknown): void {
    if (!isObject(event)) {
      sink.broken(event == null ? '' : typeof event);
      return;
    }
    const taken = fold && streaming?.take(fold, event);
    if (fold && taken === true) {
      // Bedrock adds its token counts to the last event that the model sends.
      if (fold.done) addBedrockFields(event, fold.body);
      return;
    }
    // Bedrock may also send its token counts in a separate event, which the model's own API does not define.
    if (fold && !taken && addBedrockFields(event, fold.body)) return;
    if (taken === 'restart') {
      warn(warnings, 'stream_duplicate_start');
      close();
    }
    const bytes = obj(event.chunk).bytes ?? event.bytes;
    if (bytes) {
      bedrock = true;
      pushEvent(chunkEvent(bytes));
    } else open(event);
  }

  function pushText(chunk: string): void {
    if (text) text.push(chunk);
    else {
      sample += chunk;
      const start = sample.trimStart();
      if (!start) return;
      done = /^[{[]/.test(start);
      text = (done ? jsonFraming : sseFraming)(sink);
      text.push(start);
    }
  }

  return {
    push(input) {
      const bytes = bytesOf(input);
      if (typeof input === 'string') pushText(input);
      else if (!bytes) sink.event(input);
      else if (binary ?? (!utf8 && bytes[0] === 0)) {
        // An AWS message starts with its length in four bytes, so the first byte is 0 below 16 MB. No text starts with 0.
        binary ??= awsFraming(sink);
        binary.push(bytes);
      } else {
        utf8 ??= new TextDecoder();
        pushText(utf8.decode(bytes, { stream: true }));
      }
      return this;
    },
    end() {
      if (utf8) pushText(utf8.decode());
      if ((text ?? binary)?.end()) cut = true;
      close();
      if (api) {
        if (cut || (!done && description?.promisesDone)) record.complete = false;
      } else if (!record.error) {
        const code = !sample.trim() ? 'empty' : cut ? 'not_json' : 'unknown_shape';
        return failureRecord(record, code, sample, options);
      }
      if (bedrock) record.provider = 'bedrock';
      return settle(record, options, body);
    },
  };
}
