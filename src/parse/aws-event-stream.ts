import type { Framed, Framing } from './frames.ts';
import { tryJson } from './json.ts';

const CRC_TABLE: Uint32Array = /* @__PURE__ */ (() => {
  const table = new Uint32Array(256);
  for (let n = 0; n < 256; n++) {
    let c = n;
    for (let bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
    table[n] = c;
  }
  return table;
})();

/** CRC-32 as AWS event streams use it. */
export function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (CRC_TABLE[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

const PRELUDE = 12;
const MAX_MESSAGE = 24 * 1024 * 1024;

/** Length of a header value by its type; types 6 and 7 state their own. */
const FIXED: readonly (number | null)[] = [0, 0, 1, 2, 4, 8, null, null, 8, 16];

function headersOf(bytes: Uint8Array, view: DataView): Map<string, string> | null {
  const headers = new Map<string, string>();
  const utf8 = new TextDecoder();
  let at = 0;
  while (at < bytes.length) {
    const nameLength = bytes[at] ?? 0;
    const typeAt = at + 1 + nameLength;
    const type = bytes[typeAt];
    let valueAt = typeAt + 1;
    let length = type === undefined ? undefined : FIXED[type];
    if (length === undefined) return null;
    if (length === null) {
      if (valueAt + 2 > bytes.length) return null;
      length = view.getUint16(valueAt);
      valueAt += 2;
    }
    if (valueAt + length > bytes.length) return null;
    if (type === 7) {
      headers.set(
        utf8.decode(bytes.subarray(at + 1, typeAt)),
        utf8.decode(bytes.subarray(valueAt, valueAt + length)),
      );
    }
    at = valueAt + length;
  }
  return headers;
}

/** A message as the event an SDK would give: `{contentBlockDelta: {…}}`, `{throttlingException: {…}}`. */
function eventOf(headers: Map<string, string>, payload: Uint8Array): Framed {
  if (headers.get(':message-type') === 'error') {
    const message = headers.get(':error-message') ?? '';
    return { event: { error: { type: headers.get(':error-code') ?? null, message } } };
  }
  const text = new TextDecoder().decode(payload);
  const value = text === '' ? {} : tryJson(text);
  if (value === undefined) return { broken: text };
  const name = headers.get(':exception-type') ?? headers.get(':event-type');
  return { event: name === undefined ? value : { [name]: value } };
}

/** The AWS binary event stream; a message whose checksum is wrong ends it. */
export class AwsFraming implements Framing<Uint8Array> {
  private buffer = new Uint8Array(0);
  private start = 0;
  private stop = 0;
  private corrupt = false;

  push(chunk: Uint8Array): Framed[] {
    const frames: Framed[] = [];
    if (this.corrupt) return frames;
    this.append(chunk);
    for (let frame = this.next(); frame !== null; frame = this.next()) frames.push(frame);
    return frames;
  }

  private append(chunk: Uint8Array): void {
    const kept = this.stop - this.start;
    if (this.stop + chunk.length > this.buffer.length) {
      const grown = new Uint8Array(Math.max((kept + chunk.length) * 2, 1024));
      grown.set(this.buffer.subarray(this.start, this.stop));
      this.buffer = grown;
      this.start = 0;
      this.stop = kept;
    }
    this.buffer.set(chunk, this.stop);
    this.stop += chunk.length;
  }

  private next(): Framed | null {
    if (this.corrupt || this.stop - this.start < PRELUDE) return null;
    const bytes = this.buffer.subarray(this.start, this.stop);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const total = view.getUint32(0);
    const headerLength = view.getUint32(4);
    const sane = total <= MAX_MESSAGE && headerLength + PRELUDE + 4 <= total;
    if (!sane || view.getUint32(8) !== crc32(bytes.subarray(0, 8))) return this.fail('prelude');
    if (bytes.length < total) return null;
    if (view.getUint32(total - 4) !== crc32(bytes.subarray(0, total - 4))) return this.fail('message');
    this.start += total;
    const headerBytes = bytes.subarray(PRELUDE, PRELUDE + headerLength);
    const headers = headersOf(
      headerBytes,
      new DataView(headerBytes.buffer, headerBytes.byteOffset, headerLength),
    );
    if (headers === null) return this.fail('header');
    return eventOf(headers, bytes.subarray(PRELUDE + headerLength, total - 4));
  }

  private fail(what: string): Framed {
    this.corrupt = true;
    return { broken: `AWS event stream: bad ${what} checksum or length` };
  }

  end(): { frames: Framed[]; cut: boolean } {
    return { frames: [], cut: this.corrupt || this.stop > this.start };
  }
}
