/** The bytes of a binary frame before its payload. */
export const BINARY_HEADER = 8;

/** Writes what stands before the payload of a binary frame. Byte by byte: a view would cost more than all of it. */
export function writeBinaryHeader(
  bytes: Uint8Array,
  { kind, utterance = 0, sampleRate }: { kind: number; utterance?: number; sampleRate: number },
): void {
  bytes[0] = kind;
  bytes[1] = utterance;
  bytes[2] = utterance >>> 8;
  bytes[3] = utterance >>> 16;
  bytes[4] = sampleRate;
  bytes[5] = sampleRate >>> 8;
  bytes[6] = sampleRate >>> 16;
  bytes[7] = sampleRate >>> 24;
}
