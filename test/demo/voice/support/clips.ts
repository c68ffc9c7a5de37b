import { readFileSync } from 'node:fs';

/** Something of the demo's repertoire, spoken by a synthetic voice. */
export interface Clip {
  file: string;
  voice: string;
  text: string;
  /** Where speech begins and ends in it. */
  fromMs: number;
  toMs: number;
}

const folder = new URL('../clips/', import.meta.url);

/** All clips, with their words. */
export function clips(): Clip[] {
  return JSON.parse(readFileSync(new URL('labels.json', folder), 'utf8'));
}

/** The sound of a clip: 16 kHz, mono, 16 bits, as bytes. */
export function soundOf(file: string): Buffer {
  return readFileSync(new URL(file, folder)).subarray(44);
}

/** The sound of a clip, as numbers. */
export function samplesOf(file: string): Int16Array {
  return new Int16Array(new Uint8Array(soundOf(file)).buffer);
}
