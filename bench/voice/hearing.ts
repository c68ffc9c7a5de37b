/**
 * Word errors and empty results of the demo's speech-to-text when silence surrounds speech, with and without trimming the silence.
 *
 *   tsx voice/hearing.ts [--quick]
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { COMMON_WORDS } from '../../demo/server/voice/best-transcript.ts';
import type { JobWorker } from '../../demo/server/voice/job-worker.ts';
import type { Voice } from '../../demo/server/voice/voice.ts';
import { loadTools } from '../../demo/tools/load.ts';
import { built, demo } from '../../test/browser/support/built.ts';
import { clips } from '../../test/demo/voice/support/clips.ts';
import { inARoom, speechOf } from '../../test/demo/voice/support/quiet.ts';
import { VoiceServer } from '../../test/demo/voice/support/with-voice.ts';
import { wordErrors, wordsOf } from '../../test/demo/voice/support/word-errors.ts';
import { type Figure, submit } from '../report/figure.ts';
import { spread } from '../report/stats.ts';
import { printTable } from '../report/table.ts';

interface Sentence {
  text: string;
  sound: Int16Array;
}

/** Telephone prompts recorded by a person, from a Debian package. */
const RECORDED: Readonly<Record<string, string>> = {
  'conf-placeintoconf': 'You will now be placed into the conference.',
  'all-circuits-busy-now': 'All circuits are busy now.',
  'conf-extended': 'The conference has been extended.',
  'cannot-complete-as-dialed': 'Your call cannot be completed as dialed.',
  'check-number-dial-again': 'Please check the number and dial again.',
  'conf-kicked': 'You have been kicked from this conference',
  'conf-leaderhasleft': 'The leader has left the conference.',
  'conf-onlyperson': 'You are currently the only person in this conference.',
  'conf-waitforleader': 'The conference will begin when the leader arrives.',
  'conf-now-recording': 'The conference is now being recorded.',
};
const RECORDINGS = '/usr/share/asterisk/sounds/en';

const { values: options } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const ROOMS = options.quick ? [null, -45] : [null, -50, -40];
const QUIET_MS = options.quick ? [300, 1000] : [0, 300, 1000, 2000, 3000];

function recorded(): Sentence[] {
  return Object.entries(RECORDED).flatMap(([name, text]) => {
    const file = `${RECORDINGS}/${name}.wav`;
    if (!existsSync(file)) return [];
    const raw = execFileSync('sox', [
      file,
      '-t',
      'raw',
      '-r',
      '16000',
      '-e',
      'signed',
      '-b',
      '16',
      '-c',
      '1',
      '-',
    ]);
    return { text, sound: new Int16Array(new Uint8Array(raw).buffer) };
  });
}

/** One row: the word error rate over all sentences in percent, and the number of empty results. */
async function heardOf(sentences: Sentence[], way: (sound: Int16Array) => Promise<string>, quiet: number) {
  let [words, errors, empty] = [0, 0, 0];
  for (const room of ROOMS) {
    for (const { text, sound } of sentences) {
      const heard = wordsOf(await way(inARoom(sound, { room, before: quiet, after: quiet })));
      words += wordsOf(text).length;
      errors += Math.min(wordsOf(text).length, wordErrors(wordsOf(text), heard));
      if (heard.length === 0) empty += 1;
    }
  }
  return { rate: errors / words, empty };
}

await built();
const voiced = new VoiceServer();
try {
  const states = await voiced.start();
  if (states.at(-1)?.status !== 'ready') throw new Error(`voice is not ready: ${states.at(-1)?.message}`);
  const folder = `${voiced.folder}/voice`;
  const part = (name: string) => pathToFileURL(resolve(demo, `dist/server/voice/${name}.js`));
  const { Voice: BuiltVoice } = (await import(part('voice').href)) as { Voice: typeof Voice };
  const { JobWorker: BuiltWorker } = (await import(part('job-worker').href)) as {
    JobWorker: typeof JobWorker;
  };
  const expected = [...COMMON_WORDS, ...(await loadTools()).flatMap(({ words }) => words ?? [])];
  const voice = new BuiltVoice({ folder, registry: 'http://localhost:1/', expected });
  const bare = new BuiltWorker(part('recognise-worker'), folder);
  const { signal } = new AbortController();
  const ways = {
    'as it is': (sound: Int16Array) =>
      voice.speechToText(
        (async function* () {
          yield sound;
        })(),
        { signal, onPartial: () => undefined },
      ),
    'without the cut': async (sound: Int16Array) => {
      let text = '';
      for await (const value of bare.run(sound, signal)) text = String(value);
      return text;
    },
  };
  const sets = {
    synthetic: clips().map((clip): Sentence => ({ text: clip.text, sound: speechOf(clip) })),
    recorded: recorded(),
  };
  const rows: Record<string, string>[] = [];
  const figures: Figure[] = [];
  for (const [set, sentences] of Object.entries(sets)) {
    if (sentences.length === 0) {
      console.log(`no ${set} sentences: apt-get install asterisk-core-sounds-en-wav sox`);
      continue;
    }
    for (const [name, way] of Object.entries(ways)) {
      const rates = new Map<number, number>();
      let empties = 0;
      for (const quiet of QUIET_MS) {
        const { rate, empty } = await heardOf(sentences, way, quiet);
        rates.set(quiet, rate);
        empties += empty;
        rows.push({
          sentences: set,
          recogniser: name,
          'quiet before and after': `${quiet} ms`,
          'word errors': `${(rate * 100).toFixed(1)} %`,
          empty: String(empty),
        });
      }
      if (name !== 'as it is') continue;
      const ratio = (rates.get(1000) ?? 0) / (rates.get(300) ?? 1);
      figures.push(
        { name: `${set}: word errors, 1 s of quiet / 0.3 s`, ratio: spread([ratio]), goal: { atMost: 1.2 } },
        { name: `${set}: empty results`, ratio: spread([empties]), goal: { atMost: 0 } },
      );
    }
  }
  printTable(rows);
  submit(figures, rows);
  await Promise.all([voice.close(), bare.close()]);
} finally {
  await voiced.dispose();
}
