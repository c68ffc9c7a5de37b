/**
 * Makes the clips that recognition is measured by anew, with the voices of Debian's `flite`.
 *
 *   npx tsx scripts/clips.ts
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '..', 'test', 'demo', 'voice', 'clips');
const labels: { file: string; voice: string; text: string }[] = JSON.parse(
  readFileSync(join(folder, 'labels.json'), 'utf8'),
);
for (const { file, voice, text } of labels) {
  execFileSync('flite', ['-voice', voice, '-t', text, '-o', join(folder, file)]);
}
console.log(`${labels.length} clips`);
