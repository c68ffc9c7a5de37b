import type { FrameSink, Framing } from './frames.ts';
import { tryJson, utf8Of } from './json.ts';

const CRC_TABLE: Int32Array = /* @__PURE__ */ Int32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? -306674912 ^ (c >>> 1) : c >>> 1;
  return c;
});

/** Computes the CRC-32 checksum that AWS event streams use. */
export function crc32(bytes: Uint8Array): number {
  let crc = -1;
  for (const byte of bytes) crc = (CRC_TABLE[(crc ^ byte) & 255] ?? 0) ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** The length in bytes of the start of a message: its total length, the length of its headers, and a checksum of both. */
const PRELUDE = 12;

/**
 * Reads the AWS binary event stream. Each message becomes the event that the AWS SDK would return, such as
 * `{contentBlockDelta: {…}}` or `{throttlingException: {…}}`. After a message with a wrong checksum it reads no more messages.
 */
export function awsFraming(sink: FrameSink): Framing<Uint8Array> {
  let buffer = new Uint8Array(0);
  let start = 0;
  let stop = 0;
  let corrupt = false;
  const take = (message: Uint8Array, bodyAt: number): void => {
    const names = new TextDecoder('latin1').decode(message.subarray(0, bodyAt));
    const text = utf8Of(message.subarray(bodyAt, -4));
    const value = tryJson(text || '{}');
    /** Returns the value of a text header. Its bytes are a colon, the name, the type 7, the length in two bytes, and the value. */
    const header = (key: string): string | undefined => {
      const rest = names.split(`:${key}\x07`)[1];
      const at = bodyAt - (rest?.length ?? 0);
      return rest?.slice(2, 2 + (message[at] ?? 0) * 256 + (message[at + 1] ?? 0));
    };
    const name = header('exception-type') ?? header('event-type');
    const code = header('error-code');
    if (code) sink.event({ error: { type: code, message: header('error-message') } });
    else if (value === undefined) sink.broken(text);
    else sink.event(name ? { [name]: value } : value);
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
        const view = new DataView(buffer.buffer, start);
        const total = view.getUint32(0);
        const headerLength = view.getUint32(4);
        const message = buffer.subarray(start, Math.min(start + total, stop));
        const whole = message.length === total;
        corrupt =
          headerLength + PRELUDE + 4 > total ||
          view.getUint32(8) !== crc32(message.subarray(0, 8)) ||
          (whole && view.getUint32(total - 4) !== crc32(message.subarray(0, -4)));
        if (corrupt) sink.broken('bad checksum');
        else if (whole) take(message, PRELUDE + headerLength);
        if (!whole) return;
        start += total;
      }
    },
    end: () => corrupt || stop > start,
  };
}
