import type { ApiReader, Fold, Folded } from './api.ts';
import { awsFraming } from './aws-event-stream.ts';
import { matchApi, unwrap } from './detect.ts';
import { type ErrorBody, errorOf } from './errors.ts';
import { errorRecord, excerpt, failureRecord } from './failure.ts';
import { type Framing, jsonFraming, sseFraming } from './frames.ts';
import { bytesOf, type Draft, isObject, type Obj, tryJson } from './json.ts';
import { emptyRecord, type ParsedResponse, type Warning } from './record.ts';
import { BEDROCK_EXTRA, type ParseOptions, settle } from './settle.ts';
import { warn } from './warn.ts';

/** Gathers a stream, in whatever pieces it arrives, into one record. */
export interface Accumulator {
  /** Takes text, bytes or a decoded event. */
  push(input: unknown): Accumulator;
  /** Ends the stream and reads it; what had arrived is in the record even if the stream was cut. */
  end(): ParsedResponse;
}

interface Turn extends Folded {
  reader: ApiReader;
}

/** The event inside a chunk of a Bedrock InvokeModel stream, whose bytes are base64 or raw. */
function chunkEvent(bytes: unknown): unknown {
  try {
    const raw =
      typeof bytes === 'string' ? Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0)) : bytesOf(bytes);
    return raw && tryJson(new TextDecoder().decode(raw));
  } catch {
    return null;
  }
}

/** The APIs whose server-sent events end with `data: [DONE]`. */
const PROMISES_DONE = /^openai.c/;

/** Several responses in one stream: what was said is joined, what was counted is the last one's. */
function join(turns: readonly ParsedResponse[]): ParsedResponse {
  const [first, ...rest] = turns;
  return rest.reduce((all, turn) => {
    turn.text = all.text + turn.text;
    turn.content = all.content.concat(turn.content);
    turn.toolUses = all.toolUses.concat(turn.toolUses);
    turn.citations = all.citations.concat(turn.citations);
    turn.thinking = [all.thinking, turn.thinking].filter(Boolean).join('\n\n') || null;
    turn.refusal = all.refusal || turn.refusal ? (all.refusal ?? '') + (turn.refusal ?? '') : null;
    for (const { code, message } of all.warnings) warn(turn.warnings, code, message);
    return turn;
  }, first as ParsedResponse);
}

/** Starts gathering a stream; a string names the provider. */
export function createAccumulator(given: ParseOptions | string = {}): Accumulator {
  const options = typeof given === 'string' ? { provider: given } : given;
  const warnings: Warning[] = [];
  const turns: Turn[] = [];
  const extra: Draft = {};
  let current: { reader: ApiReader; fold: Fold } | null = null;
  let error: ErrorBody | null = null;
  let streamed = false;
  let text: Framing<string> | null = null;
  let binary: Framing<Uint8Array> | null = null;
  let utf8: TextDecoder | null = null;
  let sample = '';
  /** Server-sent events promise an end marker. */
  let done = true;
  let cut = false;

  const broken = (what: string): void => {
    warn(warnings, 'stream_corrupt', excerpt(what));
    sample ||= what;
    cut = true;
  };
  const sink = {
    // A list is events, too.
    event(value: unknown) {
      if (Array.isArray(value)) value.forEach(pushEvent);
      else pushEvent(value);
    },
    done: () => {
      done = true;
    },
    broken,
  };

  const close = (): void => {
    if (current !== null) turns.push({ reader: current.reader, ...current.fold.end(warnings) });
    current = null;
  };

  const open = (event: Obj): void => {
    const match = matchApi(event) ?? (errorOf(event) ? null : unwrap(event));
    if (match === null) {
      error ??= errorOf(event);
      sample ||= `{${Object.keys(event)}}`;
      return;
    }
    const { reader, as, value } = match;
    if (as === 'body' || current?.reader !== reader) close();
    if (as === 'body') turns.push({ reader, body: value, complete: true });
    else {
      streamed = true;
      current ??= { reader, fold: reader.fold() };
      current.fold.push(value, warnings);
    }
  };

  const pushEvent = (raw: unknown): void => {
    const { bytes } = isObject(raw) && isObject(raw.chunk) ? raw.chunk : ((raw as Obj | null) ?? {});
    const event = bytes ? chunkEvent(bytes) : raw;
    if (!isObject(event)) {
      broken(event == null ? '' : typeof event);
      return;
    }
    if (bytes) extra.bedrock = true;
    for (const key of BEDROCK_EXTRA) if (event[key] !== undefined) extra[key] = event[key];
    const taken = current?.fold.push(event, warnings);
    if (taken === 'taken') return;
    if (taken === 'restart') {
      warn(warnings, 'stream_duplicate_start', 'several responses in one stream');
      close();
    }
    open(event);
  };

  const pushText = (chunk: string): void => {
    if (text === null) {
      sample += chunk;
      const start = sample.trimStart();
      if (start === '') return;
      done = /^[{[]/.test(start);
      text = done ? jsonFraming(sink) : sseFraming(sink);
      text.push(start);
    } else text.push(chunk);
  };

  const pushBytes = (bytes: Uint8Array): void => {
    // No text starts with a zero byte; every AWS message does, being shorter than 16 MB.
    if (utf8 === null && bytes[0] === 0) binary ??= awsFraming(sink);
    if (binary !== null) binary.push(bytes);
    else {
      utf8 ??= new TextDecoder();
      pushText(utf8.decode(bytes, { stream: true }));
    }
  };

  const read = (turn: Turn, complete: boolean): ParsedResponse => {
    const record = emptyRecord(turn.reader.api);
    record.streamed = streamed;
    record.complete = complete;
    turn.reader.read(turn.body, record);
    return record;
  };

  return {
    push(input) {
      const bytes = bytesOf(input);
      if (bytes !== null) pushBytes(bytes);
      else if (typeof input === 'string') pushText(input);
      else sink.event(input);
      return this;
    },
    end() {
      if (utf8 !== null) pushText(utf8.decode());
      if ((text ?? binary)?.end()) cut = true;
      close();
      const last = turns.pop();
      if (last === undefined) {
        const code = !sample.trim() ? 'empty' : cut ? 'not_json' : 'unknown_shape';
        const record = error ? errorRecord(error, options) : failureRecord(code, sample, options);
        record.warnings.push(...warnings);
        return record;
      }
      const whole = last.complete && !cut && !error && (done || !PROMISES_DONE.test(last.reader.api));
      const record = join([...turns.map((turn) => read(turn, turn.complete)), read(last, whole)]);
      for (const { code, message } of warnings) warn(record.warnings, code, message);
      if (extra.bedrock) record.provider = 'bedrock';
      return settle(record, last.body, extra, options, error?.error);
    },
  };
}
