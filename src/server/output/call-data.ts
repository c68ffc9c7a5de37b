import type { DataOptions } from '../../adk/for-server.ts';
import { isPlain, merge } from '../../protocol/fold.ts';
import type { Chunk } from '../../protocol/index.ts';
import { LIMITS, nestsWithin } from '../../protocol/limits.ts';
import { SERVER_METADATA } from '../../protocol/wire/values.ts';
import type { Clock } from '../clock.ts';
import { jsonOf, Throttle, VALUE_BYTES } from './throttle.ts';

/** The key of metadata in `waiting`. */
const METADATA = 'metadata';

/** How many data parts one call may send. A part whose value is replaced counts once. */
const MAX_PARTS = 64;

/**
 * Sends the data parts and metadata that the tool of one call reports. A value that arrives too soon after the last one waits. If a part gets several
 * values meanwhile, only the newest is sent. When the call ends, every waiting value is sent, so that the message contains it.
 */
export class CallData {
  private readonly say: (chunks: Chunk[]) => void;
  private readonly pace: Throttle;
  /** The values that are not sent yet, by the key of their part, in the order in which the parts began to wait. */
  private readonly waiting = new Map<string, { chunk: Chunk; bytes: number }>();
  private readonly parts = new Set<string>();
  private count = 0;
  /** All metadata that the call has reported. */
  private metadata: object = {};

  constructor(clock: Clock, say: (chunks: Chunk[]) => void) {
    this.say = say;
    this.pace = new Throttle(clock, () => this.flush(VALUE_BYTES));
  }

  /** Accepts the value of a data part. Throws when it cannot be sent. */
  add(name: string, { value: data, bytes }: { value: unknown; bytes: number }, options: DataOptions): void {
    const { id, transient = false } = options;
    if (id !== undefined && (typeof id !== 'string' || id === '' || id.length > LIMITS.idLength))
      throw new Error(`the id of the data must be a text of 1 to ${LIMITS.idLength} characters`);
    // Without an id each value is a part of its own. But a transient value without an id replaces the one before, because a page cannot tell them
    // apart.
    const part = id ?? (transient ? undefined : ++this.count);
    const key = JSON.stringify([name, transient, part]);
    if (!this.parts.has(key) && this.parts.size >= MAX_PARTS)
      throw new Error(`a call sends at most ${MAX_PARTS} data parts`);
    this.parts.add(key);
    const about = { ...(id === undefined ? {} : { id }), ...(transient ? { transient } : {}) };
    const chunk = { type: `data-${name}`, data, ...about } as unknown as Chunk;
    this.waiting.set(key, { chunk, bytes });
    this.pace.request();
  }

  /** Accepts metadata for the message. Throws when it cannot be sent. */
  addMetadata(fields: Readonly<Record<string, unknown>>): void {
    const ofServer = Object.keys(fields).filter((name) => SERVER_METADATA.has(name));
    if (ofServer.length > 0)
      throw new Error(`tools cannot set ${ofServer.join(', ')}, which the server writes`);
    const { value } = jsonOf(fields);
    if (!isPlain(value)) throw new Error('the metadata must be an object');
    if (!nestsWithin(value, LIMITS.depth))
      throw new Error(`the metadata has more than ${LIMITS.depth} levels of objects and lists`);
    const whole = merge(this.metadata, value);
    const { bytes } = jsonOf(whole);
    if (bytes > LIMITS.metadataBytes)
      throw new Error(
        `the metadata of a call may have at most ${LIMITS.metadataBytes} bytes, but it has ${bytes}`,
      );
    this.metadata = whole;
    const waiting = this.waiting.get(METADATA)?.chunk as { messageMetadata?: object } | undefined;
    const messageMetadata = merge(waiting?.messageMetadata ?? {}, value);
    const chunk = { type: 'message-metadata', messageMetadata } as Chunk;
    this.waiting.set(METADATA, { chunk, bytes });
    this.pace.request();
  }

  /** Sends every waiting value, because the call has ended. */
  close(): void {
    this.pace.cancel();
    this.flush(Number.POSITIVE_INFINITY);
  }

  /** Sends waiting values, the longest waiting first, up to `most` bytes in total. The others wait for the next flush. */
  private flush(most: number): void {
    const chunks: Chunk[] = [];
    let all = 0;
    for (const [key, { chunk, bytes }] of this.waiting) {
      all += bytes;
      if (all > most) break;
      chunks.push(chunk);
      this.waiting.delete(key);
    }
    if (chunks.length > 0) this.say(chunks);
    if (this.waiting.size > 0) this.pace.request();
  }
}
