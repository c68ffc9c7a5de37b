/**
 * Generates the audio clips for the tests of speech-to-text and VAD again, with the voices of Debian's `flite`, and records where
 * speech begins and ends in each.
 *
 *   npx tsx scripts/clips.ts
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Label {
  file: string;
  voice: string;
  text: string;
  fromMs: number;
  toMs: number;
}

/** 10 ms at 16 kHz. */
const STEP = 160;
/** Synthesised audio below this share of the loudest step is silence or breath. */
const QUIET = 1 / 20;

const folder = join(import.meta.dirname, '..', 'test', 'demo', 'voice', 'clips');
const list = join(folder, 'labels.json');
const labels: Label[] = JSON.parse(readFileSync(list, 'utf8'));
for (const label of labels) {
  const file = join(folder, label.file);
  execFileSync('flite', ['-voice', label.voice, '-t', label.text, '-o', file]);
  Object.assign(label, speechIn(readFileSync(file).subarray(44)));
}
writeFileSync(list, `${JSON.stringify(labels, null, 2)}\n`);
console.log(`${labels.length} clips`);

function speechIn(pcm: Buffer): Pick<Label, 'fromMs' | 'toMs'> {
  const steps: number[] = [];
  for (let at = 0; at + STEP * 2 <= pcm.length; at += STEP * 2) {
    let sum = 0;
    for (let i = 0; i < STEP; i++) sum += pcm.readInt16LE(at + i * 2) ** 2;
    steps.push(Math.sqrt(sum / STEP));
  }
  const least = Math.max(...steps) * QUIET;
  const first = steps.findIndex((loudness) => loudness > least);
  const last = steps.findLastIndex((loudness) => loudness > least);
  return { fromMs: first * 10, toMs: last * 10 + 10 };
}
