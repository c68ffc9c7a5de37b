/** Converts samples between -1 and 1 to 16-bit PCM. Louder samples are clipped, and NaN becomes silence. */
export function convertFloat32ToPCM16(samples: Float32Array): Int16Array<ArrayBuffer> {
  const pcm = new Int16Array(samples.length);
  for (let i = 0; i < samples.length; i++) {
    const sample = samples[i] ?? 0;
    pcm[i] = Math.round(Math.max(-1, Math.min(1, sample)) * 32_767);
  }
  return pcm;
}

/** Converts 16-bit PCM to samples between -1 and 1. */
export function convertPCM16ToFloat32(pcm: Int16Array): Float32Array<ArrayBuffer> {
  const samples = new Float32Array(pcm.length);
  for (let i = 0; i < pcm.length; i++) samples[i] = (pcm[i] ?? 0) / 32_768;
  return samples;
}

/** Reads bytes as 16-bit little-endian PCM. It copies them only if they start at an odd offset of their buffer. An odd last byte is dropped. */
export function pcm16Of(bytes: Uint8Array): Int16Array {
  const { buffer, byteOffset, byteLength } = bytes;
  const length = byteLength >> 1;
  // An Int16Array must start at an even byte offset, so bytes at an odd offset are copied.
  return byteOffset % 2 === 0
    ? new Int16Array(buffer, byteOffset, length)
    : new Int16Array(bytes.slice(0, length * 2).buffer);
}

/** Encodes pieces of mono 16-bit PCM as one WAV file. */
export function encodeWav(pieces: readonly Int16Array[], sampleRate: number): Uint8Array<ArrayBuffer> {
  const size = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
  const bytes = new Uint8Array(44 + size);
  const view = new DataView(bytes.buffer);
  const text = (at: number, value: string) => bytes.set(new TextEncoder().encode(value), at);
  text(0, 'RIFF');
  view.setUint32(4, 36 + size, true);
  text(8, 'WAVEfmt ');
  // The format: its length (16 bytes), linear PCM, one channel, the sample rate, the bytes of a second, the bytes and the bits of a sample.
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, sampleRate * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, 'data');
  view.setUint32(40, size, true);
  let at = 44;
  for (const piece of pieces) {
    bytes.set(new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength), at);
    at += piece.byteLength;
  }
  return bytes;
}
