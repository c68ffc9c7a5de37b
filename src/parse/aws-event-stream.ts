import type { FrameSink, Framing } from './frames.ts';
import { tryJson, utf8Of } from './json.ts';

const CRC_TABLE: Int32Array = /* @__PURE__ */ Int32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? -306674912 ^ (c >>> 1) : c >>> 1;
  return c;
});

/** CRC-32 as AWS event streams use it. */
export function crc32(bytes: Uint8Array): number {
  let crc = -1;
  for (const byte of bytes) crc = (CRC_TABLE[(crc ^ byte) & 255] ?? 0) ^ (crc >>> 8);
  return ~crc >>> 0;
}

const PRELUDE = 12;
const MAX_MESSAGE = 2 ** 24;

/** Length of a header value by its type; types 6 and 7 state their own. */
const LENGTHS = [0, 0, 1, 2, 4, 8, -1, -1, 8, 16];

const TEXT = 7;

/** The text headers of a message. */
function headersOf(bytes: Uint8Array): Record<string, string> {
  const headers: Record<string, string> = {};
  const utf8 = (from: number, to: number) => utf8Of(bytes.subarray(from, to));
  for (let at = 0; at < bytes.length; ) {
    const nameEnd = at + 1 + (bytes[at] ?? 0);
    const type = bytes[nameEnd] ?? 0;
    const known = LENGTHS[type] ?? 0;
    const value = nameEnd + (known < 0 ? 3 : 1);
    const end = value + (known < 0 ? (bytes[value - 2] ?? 0) * 256 + (bytes[value - 1] ?? 0) : known);
    if (type === TEXT) headers[utf8(at + 1, nameEnd)] = utf8(value, end);
    at = end;
  }
  return headers;
}

/**
 * The AWS binary event stream: each message becomes the event an SDK would give, `{contentBlockDelta: {…}}` or
 * `{throttlingException: {…}}`; a message whose checksum is wrong ends the stream.
 */
export function awsFraming(sink: FrameSink): Framing<Uint8Array> {
  let buffer = new Uint8Array(0);
  let start = 0;
  let stop = 0;
  let corrupt = false;
  const take = (message: Uint8Array, headerLength: number): void => {
    const headers = headersOf(message.subarray(PRELUDE, PRELUDE + headerLength));
    const text = utf8Of(message.subarray(PRELUDE + headerLength, -4));
    const name = headers[':exception-type'] ?? headers[':event-type'];
    const value = text === '' ? {} : tryJson(text);
    if (headers[':message-type'] === 'error') {
      sink.event({ error: { type: headers[':error-code'], message: headers[':error-message'] } });
    } else if (value === undefined) sink.broken(text);
    else sink.event(name === undefined ? value : { [name]: value });
  };
  return {
    push(chunk) {
      if (stop + chunk.length > buffer.length) {
        const grown = new Uint8Array((stop - start + chunk.length) * 2);
        grown.set(buffer.subarray(start, stop));
        buffer = grown;
        stop -= start;
        start = 0;
      }
      buffer.set(chunk, stop);
      stop += chunk.length;
      while (!corrupt && stop - start >= PRELUDE) {
        const view = new DataView(buffer.buffer, start, stop - start);
        const total = view.getUint32(0);
        const headerLength = view.getUint32(4);
        const message = buffer.subarray(start, Math.min(start + total, stop));
        const whole = message.length === total;
        corrupt =
          total > MAX_MESSAGE ||
          headerLength + PRELUDE + 4 > total ||
          view.getUint32(8) !== crc32(message.subarray(0, 8)) ||
          (whole && view.getUint32(total - 4) !== crc32(message.subarray(0, -4)));
        if (corrupt) sink.broken('bad checksum');
        else if (whole) take(message, headerLength);
        if (!whole) return;
        start += total;
      }
    },
    end: () => corrupt || stop > start,
  };
}
