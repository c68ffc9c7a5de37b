import type { ApiReader, Fold } from './api.ts';
import { AwsFraming } from './aws-event-stream.ts';
import { matchApi, unwrap } from './detect.ts';
import { type ErrorBody, errorOf } from './errors.ts';
import { errorRecord, excerpt, failureRecord } from './failure.ts';
import { type Framed, type Framing, JsonFraming, SseFraming } from './frames.ts';
import { isObject, type Obj, tryJson } from './json.ts';
import { emptyRecord, type ParsedResponse, type Warning } from './record.ts';
import { type ParseOptions, settle } from './settle.ts';
import { warn } from './warn.ts';

/** Gathers a stream, in whatever pieces it arrives, into one record. */
export interface Accumulator {
  /** Takes text, bytes or a decoded event. */
  push(input: unknown): Accumulator;
  /** Ends the stream and reads it; what had arrived is in the record even if the stream was cut. */
  end(): ParsedResponse;
}

interface Turn {
  reader: ApiReader;
  body: Obj;
  complete: boolean;
}

function bytesOf(value: unknown): Uint8Array | null {
  if (value instanceof Uint8Array) return value;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  return ArrayBuffer.isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : null;
}

/** The event inside a chunk of a Bedrock InvokeModel stream, whose bytes are base64 or raw. */
function chunkEvent(bytes: unknown): unknown {
  try {
    const raw =
      typeof bytes === 'string' ? Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0)) : bytesOf(bytes);
    return raw === null ? undefined : tryJson(new TextDecoder().decode(raw));
  } catch {
    return undefined;
  }
}

const START = /\S/;

class StreamAccumulator implements Accumulator {
  private readonly warnings: Warning[] = [];
  private readonly turns: Turn[] = [];
  private reader: ApiReader | null = null;
  private fold: Fold | null = null;
  private error: ErrorBody | null = null;
  private metrics: Obj | null = null;
  private viaBedrock = false;
  private guardrail: Obj | null = null;
  private streamed = false;

  private text: Framing<string> | null = null;
  private aws: AwsFraming | null = null;
  private utf8: TextDecoder | null = null;
  private unread = '';
  private sample = '';
  private done = false;
  private cut = false;

  constructor(private readonly options: ParseOptions) {}

  push(input: unknown): this {
    if (typeof input === 'string') this.pushText(input);
    else if (isObject(input) && !ArrayBuffer.isView(input) && !(input instanceof ArrayBuffer))
      this.pushEvent(input);
    else if (Array.isArray(input)) for (const event of input) this.push(event);
    else {
      const bytes = bytesOf(input);
      if (bytes !== null) this.pushBytes(bytes);
      else warn(this.warnings, 'stream_corrupt', `an event is ${input === null ? 'null' : typeof input}`);
    }
    return this;
  }

  private pushBytes(bytes: Uint8Array): void {
    // No text starts with a zero byte; every AWS message does, its length being below 24 MB.
    if (this.aws === null && this.utf8 === null && bytes[0] === 0) this.aws = new AwsFraming();
    if (this.aws !== null) this.takeAll(this.aws.push(bytes));
    else {
      this.utf8 ??= new TextDecoder();
      this.pushText(this.utf8.decode(bytes, { stream: true }));
    }
  }

  private pushText(chunk: string): void {
    if (this.text === null) {
      this.unread += chunk;
      const first = START.exec(this.unread);
      if (first === null) return;
      const json = first[0] === '{' || first[0] === '[';
      this.text = json ? new JsonFraming() : new SseFraming();
      this.sample = this.unread.slice(0, 400);
      this.takeAll(this.text.push(this.unread));
      this.unread = '';
    } else this.takeAll(this.text.push(chunk));
  }

  private takeAll(frames: Framed[]): void {
    for (const frame of frames) {
      if ('event' in frame) this.push(typeof frame.event === 'string' ? null : frame.event);
      else if ('done' in frame) this.done = true;
      else {
        this.cut = true;
        warn(this.warnings, 'stream_corrupt', `an event cannot be read: ${excerpt(frame.broken)}`);
      }
    }
  }

  private pushEvent(outer: Obj): void {
    let event = outer;
    const bytes = (isObject(outer.chunk) ? outer.chunk : outer).bytes;
    if (bytes !== undefined) {
      const inner = chunkEvent(bytes);
      if (!isObject(inner)) {
        warn(this.warnings, 'stream_corrupt', 'the bytes of a chunk are not JSON');
        return;
      }
      this.viaBedrock = true;
      event = inner;
    }
    if (isObject(event['amazon-bedrock-invocationMetrics']))
      this.metrics = event['amazon-bedrock-invocationMetrics'];
    if (event['amazon-bedrock-guardrailAction'] !== undefined) this.guardrail = event;
    if (this.fold === null) {
      this.open(event);
      return;
    }
    const taken = this.fold.push(event, this.warnings);
    if (taken === 'restart') {
      warn(
        this.warnings,
        'stream_duplicate_start',
        'the stream holds several responses; text and calls of all are shown',
      );
      this.close();
      this.open(event);
    } else if (taken === 'foreign') this.open(event);
  }

  private open(event: Obj): void {
    const match = matchApi(event) ?? (errorOf(event) === null ? unwrap(event) : null);
    if (match === null) {
      this.error ??= errorOf(event);
      return;
    }
    const { reader, as, value } = match;
    if (as === 'body') {
      this.close();
      this.turns.push({ reader, body: value, complete: true });
      return;
    }
    this.streamed = true;
    if (this.reader !== reader || this.fold === null) {
      this.close();
      this.reader = reader;
      this.fold = reader.fold();
    }
    this.fold.push(value, this.warnings);
  }

  private close(): void {
    if (this.fold !== null && this.reader !== null) {
      this.turns.push({ reader: this.reader, ...this.fold.end(this.warnings) });
    }
    this.fold = null;
  }

  end(): ParsedResponse {
    if (this.utf8 !== null) this.pushText(this.utf8.decode());
    for (const framing of [this.text, this.aws]) {
      if (framing === null) continue;
      const { frames, cut } = framing.end();
      this.takeAll(frames);
      this.cut ||= cut;
    }
    this.close();
    const last = this.turns.at(-1);
    if (last !== undefined) return this.record(last);
    const record = this.error === null ? this.failure() : errorRecord(this.error, this.options);
    record.streamed = this.streamed;
    record.warnings.push(...this.warnings);
    return record;
  }

  private failure(): ParsedResponse {
    const text = this.sample || this.unread.slice(0, 400);
    if (text === '') return failureRecord('empty', 'no response arrived', this.options);
    const code = START.exec(text)?.[0] === '{' && this.cut ? 'not_json' : 'unknown_shape';
    return failureRecord(code, `expected a provider's response, got: ${excerpt(text)}`, this.options);
  }

  private record(last: Turn): ParsedResponse {
    const awaitsDone = this.text instanceof SseFraming && last.reader.endsWithDone === true && this.streamed;
    const complete = last.complete && !this.cut && this.error === null && (!awaitsDone || this.done);
    const record = this.read(last, complete);
    if (this.turns.length > 1) {
      const earlier = this.turns.slice(0, -1).map((turn) => this.read(turn, turn.complete));
      prepend(earlier, record);
    }
    record.warnings.push(
      ...this.warnings.filter(({ code }) => !record.warnings.some((known) => known.code === code)),
    );
    if (this.viaBedrock) record.provider = 'bedrock';
    const body = this.guardrail === null ? last.body : { ...this.guardrail, ...last.body };
    return settle(record, body, this.options, { metrics: this.metrics, error: this.error?.error ?? null });
  }

  private read(turn: Turn, complete: boolean): ParsedResponse {
    const record = emptyRecord(turn.reader.provider, turn.reader.api);
    record.streamed = this.streamed;
    record.complete = complete;
    turn.reader.read(turn.body, record);
    return record;
  }
}

/** Several responses in one stream: what was said is joined, what was counted is the last one's. */
function prepend(earlier: readonly ParsedResponse[], record: ParsedResponse): void {
  const all = [...earlier, record];
  const thoughts = all.map((turn) => turn.thinking).filter((text) => text !== null);
  const refusals = all.map((turn) => turn.refusal).filter((text) => text !== null);
  record.text = all.map((turn) => turn.text).join('');
  record.content = all.flatMap((turn) => turn.content);
  record.toolUses = all.flatMap((turn) => turn.toolUses);
  record.citations = all.flatMap((turn) => turn.citations);
  record.thinking = thoughts.length > 0 ? thoughts.join('\n\n') : null;
  record.refusal = refusals.length > 0 ? refusals.join('') : null;
  for (const turn of earlier)
    for (const { code, message } of turn.warnings) warn(record.warnings, code, message);
}

/** Starts gathering a stream; a string names the provider. */
export function createAccumulator(options: ParseOptions | string = {}): Accumulator {
  return new StreamAccumulator(typeof options === 'string' ? { provider: options } : options);
}
