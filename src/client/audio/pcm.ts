/** Samples between -1 and 1 as 16-bit PCM; what is louder is cut off, and what is no number is silence. */
export function convertFloat32ToPCM16(samples: Float32Array): Int16Array<ArrayBuffer> {
  const pcm = new Int16Array(samples.length);
  for (let i = 0; i < samples.length; i++) {
    const sample = samples[i] ?? 0;
    pcm[i] = Math.round(Math.max(-1, Math.min(1, sample)) * 32_767);
  }
  return pcm;
}

/** 16-bit PCM as samples between -1 and 1. */
export function convertPCM16ToFloat32(pcm: Int16Array): Float32Array<ArrayBuffer> {
  const samples = new Float32Array(pcm.length);
  for (let i = 0; i < pcm.length; i++) samples[i] = (pcm[i] ?? 0) / 32_768;
  return samples;
}

/** Bytes of 16-bit PCM, lowest byte first, as samples; half a sample at the end is left out. */
export function pcm16Of(bytes: Uint8Array): Int16Array {
  const { buffer, byteOffset, byteLength } = bytes;
  const length = byteLength >> 1;
  // A view must begin at an even place.
  return byteOffset % 2 === 0
    ? new Int16Array(buffer, byteOffset, length)
    : new Int16Array(bytes.slice(0, length * 2).buffer);
}

const WAV_HEADER = 44;

/** Pieces of mono 16-bit PCM as the bytes of one WAV file. */
export function encodeWav(pieces: readonly Int16Array[], sampleRate: number): Uint8Array<ArrayBuffer> {
  const data = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
  const bytes = new Uint8Array(WAV_HEADER + data);
  const view = new DataView(bytes.buffer);
  const text = (at: number, word: string) => bytes.set(new TextEncoder().encode(word), at);
  text(0, 'RIFF');
  view.setUint32(4, WAV_HEADER - 8 + data, true);
  text(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  // Linear PCM, one channel.
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, sampleRate * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, 'data');
  view.setUint32(40, data, true);
  let at = WAV_HEADER;
  for (const piece of pieces) {
    bytes.set(new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength), at);
    at += piece.byteLength;
  }
  return bytes;
}
