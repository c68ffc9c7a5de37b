import type { DataOptions } from '../../adk/for-server.ts';
import { isPlain, merge } from '../../protocol/fold.ts';
import type { Chunk } from '../../protocol/index.ts';
import { LIMITS, nestsWithin } from '../../protocol/limits.ts';
import { SERVER_METADATA } from '../../protocol/wire/values.ts';
import type { Clock } from '../clock.ts';
import { jsonOf, Throttle, VALUE_BYTES } from './throttle.ts';

/** The key of metadata among the values that wait. */
const METADATA = 'metadata';

/** How many data parts one call may send; a part whose value is replaced counts once. */
const MAX_PARTS = 64;

/**
 * The data parts and the metadata that the tool of one call sends. Values that come too soon after the last ones wait; of the values of one part only the newest is sent. When the call ends,
 * everything that waits is sent, since the message is to have it.
 */
export class CallData {
  private readonly say: (chunks: Chunk[]) => void;
  private readonly pace: Throttle;
  /** The values that are not sent yet, by part, in the order of their parts. */
  private readonly waiting = new Map<string, { chunk: Chunk; bytes: number }>();
  private readonly parts = new Set<string>();
  private count = 0;
  /** All metadata of the call. */
  private metadata: object = {};

  constructor(clock: Clock, say: (chunks: Chunk[]) => void) {
    this.say = say;
    this.pace = new Throttle(clock, () => this.flush(VALUE_BYTES));
  }

  /** Takes a value. Throws when it cannot be sent. */
  add(name: string, { value: data, bytes }: { value: unknown; bytes: number }, options: DataOptions): void {
    const { id, transient = false } = options;
    if (id !== undefined && (typeof id !== 'string' || id === '' || id.length > LIMITS.idLength))
      throw new Error(`its id must be a text of 1 to ${LIMITS.idLength} characters`);
    // Without an id each value is a part, except that a transient value replaces the one before, because nothing keeps them apart.
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

  /** Takes metadata of the message. Throws when it cannot be sent. */
  addMetadata(fields: Readonly<Record<string, unknown>>): void {
    const ofServer = Object.keys(fields).filter((name) => SERVER_METADATA.has(name));
    if (ofServer.length > 0)
      throw new Error(`tools cannot set ${ofServer.join(', ')}, which the server writes`);
    const { value } = jsonOf(fields);
    if (!isPlain(value)) throw new Error('it must be an object');
    if (!nestsWithin(value, LIMITS.depth)) throw new Error('it is nested too deep');
    const whole = merge(this.metadata, value);
    const { bytes } = jsonOf(whole);
    if (bytes > LIMITS.metadataBytes)
      throw new Error(`it has ${bytes} bytes, and ${LIMITS.metadataBytes} are allowed for a call`);
    this.metadata = whole;
    const waiting = this.waiting.get(METADATA)?.chunk as { messageMetadata?: object } | undefined;
    const messageMetadata = merge(waiting?.messageMetadata ?? {}, value);
    const chunk = { type: 'message-metadata', messageMetadata } as Chunk;
    this.waiting.set(METADATA, { chunk, bytes });
    this.pace.request();
  }

  /** Sends everything that waits, because the call has ended. */
  close(): void {
    this.pace.cancel();
    this.flush(Number.POSITIVE_INFINITY);
  }

  /** Sends values that wait, oldest first, up to a number of bytes in all; the others wait for the next time. */
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
