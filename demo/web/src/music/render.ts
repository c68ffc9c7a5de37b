import { INSTRUMENTS } from './instruments.ts';
import type { Score } from './score.ts';

/** A piece as sound: played once as a beginning, then from `loopStart` to `loopEnd` for as long as one likes. */
export interface Rendered {
  buffer: AudioBuffer;
  loopStart: number;
  loopEnd: number;
}

/** Makes sound of a score. It is written twice, so that what rings on at the end rings into the beginning. */
export async function render(score: Score, sampleRate: number): Promise<Rendered> {
  const beat = 60 / score.beatsPerMinute;
  const length = score.beats * beat;
  const context = new OfflineAudioContext(2, Math.ceil(length * 2 * sampleRate), sampleRate);
  const { dry, room } = space(context);
  for (const { instrument, gain, notes } of score.voices) {
    const voice = context.createGain();
    voice.gain.value = gain;
    voice.connect(dry);
    if (instrument !== 'kick' && instrument !== 'bass') voice.connect(room);
    for (const pass of [0, 1]) {
      for (const { at, beats, pitch, loudness } of notes) {
        const start = pass * length + at * beat;
        INSTRUMENTS[instrument](context, { start, length: beats * beat, pitch, loudness }, voice);
      }
    }
  }
  return { buffer: await context.startRendering(), loopStart: length, loopEnd: length * 2 };
}

/** Where the voices meet: a gentle limit, and a room made of decaying echoes. */
function space(context: OfflineAudioContext): { dry: AudioNode; room: AudioNode } {
  const limit = context.createDynamicsCompressor();
  limit.threshold.value = -14;
  limit.ratio.value = 4;
  limit.connect(context.destination);
  const room = context.createGain();
  room.gain.value = 0.32;
  for (const [seconds, pan] of [
    [0.113, -0.6],
    [0.171, 0.6],
    [0.241, -0.3],
    [0.317, 0.35],
  ] as const) {
    const delay = context.createDelay(1);
    delay.delayTime.value = seconds;
    const feedback = context.createGain();
    feedback.gain.value = 0.42;
    const damp = context.createBiquadFilter();
    damp.type = 'lowpass';
    damp.frequency.value = 2600;
    const side = context.createStereoPanner();
    side.pan.value = pan;
    room.connect(delay).connect(damp).connect(feedback).connect(delay);
    damp.connect(side).connect(limit);
  }
  return { dry: limit, room };
}
