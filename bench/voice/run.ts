// The time from the end of a user's speech to the first audio of the answer, with the demo server and its offline speech-to-text and text-to-speech.
import { loadavg } from 'node:os';
import { built } from '../../test/browser/support/built.ts';
import { ofType, Speaker } from '../../test/demo/voice/support/spoken.ts';
import { VoiceServer } from '../../test/demo/voice/support/with-voice.ts';
import { type Figure, submit } from '../report/figure.ts';
import { median, spread } from '../report/stats.ts';

const REPETITIONS = Number(process.argv[2] ?? 5);
/** How often the server is restarted; each time it is measured with one speaker and with two. */
const COLD = 3;
const GOAL_MS = 1_500;
/** Each sentence leads to a tool call and a spoken answer. */
const CLIPS = ['weather.wav', 'rain-seattle.wav', 'umbrella-dublin.wav'];

/** Sends the audio of a sentence in real time and waits for the complete answer. */
async function ask(url: string, session: string, clip: string): Promise<number> {
  const approver = await new Speaker(url, session).opened();
  await approver.say(clip, { inRealTime: true });
  const heard = await approver.until((now) => ofType(now, 'finish').length > 0 && now.firstSoundMs !== null);
  approver.close();
  return heard.firstSoundMs ?? Number.NaN;
}

console.log(`load before: ${loadavg().join(' ')}`);
await built();
const voiced = new VoiceServer();
try {
  const states = await voiced.start();
  if (states.at(-1)?.status !== 'ready') throw new Error(`voice is not ready: ${states.at(-1)?.message}`);
  const cold: number[] = [];
  const coldTogether: number[] = [];
  const alone: number[] = [];
  const together: number[] = [];
  const two = async (name: string, clip: string) =>
    Math.max(...(await Promise.all(['a', 'b'].map((who) => ask(voiced.url, `${who}-${name}`, clip)))));
  for (let time = 0; time < COLD; time++) {
    // The first turns also wait until the worker threads have loaded their models, as they do after an idle minute.
    if (time > 0) await voiced.restart();
    cold.push(await ask(voiced.url, `cold-${time}`, 'weather.wav'));
    await voiced.restart();
    coldTogether.push(await two(`cold-${time}`, 'weather.wav'));
  }
  for (let time = 0; time < REPETITIONS; time++) {
    for (const clip of CLIPS) {
      alone.push(await ask(voiced.url, `alone-${time}-${clip}`, clip));
      together.push(await two(`${time}-${clip}`, clip));
    }
  }
  const ms = (times: number[]) =>
    `${median(times).toFixed(0)} ms (${Math.min(...times).toFixed(0)}–${Math.max(...times).toFixed(0)})`;
  console.log(`end of speech to first sound: alone ${ms(alone)}, the slower of two at once ${ms(together)}`);
  console.log(`models not loaded yet: alone ${ms(cold)}, the slower of two at once ${ms(coldTogether)}`);
  const ratios = (times: number[]) => spread(times.map((time) => time / GOAL_MS));
  const figures: Figure[] = [
    { name: 'end of speech to first sound / 1.5 s', ratio: ratios(alone), goal: { atMost: 1 } },
    { name: 'the slower of two people at once / 1.5 s', ratio: ratios(together), goal: { atMost: 1 } },
    { name: 'alone, models not loaded yet / 1.5 s', ratio: ratios(cold) },
    { name: 'the slower of two, models not loaded yet / 1.5 s', ratio: ratios(coldTogether) },
  ];
  submit(figures, { alone, together, cold, coldTogether });
} finally {
  await voiced.dispose();
}
