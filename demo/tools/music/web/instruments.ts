import type { Instrument, Note } from './score.ts';

/** A note with its start and length in seconds of the audio context. */
export interface Sounding extends Omit<Note, 'at' | 'beats'> {
  start: number;
  length: number;
}

type Voice = (context: BaseAudioContext, note: Sounding, into: AudioNode) => void;

/** For each instrument, a function that schedules a note with oscillators and noise. */
export const INSTRUMENTS: Readonly<Record<Instrument, Voice>> = {
  pad(context, note, into) {
    const { start, length, loudness } = note;
    const out = envelope(context, into, start, loudness * 0.16, [1.1, length - 1.1, 1.8]);
    const filter = lowpass(context, out, 900, 0.4);
    filter.frequency.setValueAtTime(500, start);
    filter.frequency.linearRampToValueAtTime(1300, start + length * 0.6);
    for (const detune of [-7, 6]) tone(context, filter, 'sawtooth', note, detune, 2);
    tone(context, filter, 'sine', note, 0, 2);
  },
  pluck(context, note, into) {
    const { start, length, loudness } = note;
    const out = envelope(context, into, start, loudness * 0.34, [0.006, 0.05, length]);
    tone(context, out, 'sine', note, 0, length);
    const shimmer = envelope(context, into, start, loudness * 0.07, [0.004, 0.02, length * 0.4]);
    tone(context, shimmer, 'triangle', { ...note, pitch: note.pitch + 12 }, 4, length);
  },
  keys(context, note, into) {
    const { start, length, loudness } = note;
    const out = envelope(context, into, start, loudness * 0.26, [0.012, length * 0.3, length * 1.2]);
    const filter = lowpass(context, out, 1700, 0.2);
    tone(context, filter, 'triangle', note, -3, length * 2);
    tone(context, filter, 'sine', { ...note, pitch: note.pitch + 12 }, 3, length * 2, 0.22);
  },
  bass(context, note, into) {
    const { start, length, loudness } = note;
    const out = envelope(context, into, start, loudness * 0.42, [0.02, length * 0.6, length * 0.5]);
    const filter = lowpass(context, out, 420, 0.6);
    tone(context, filter, 'triangle', note, 0, length * 1.4);
    tone(context, filter, 'sine', note, 0, length * 1.4);
  },
  brush(context, { start, length, loudness }, into) {
    const out = envelope(context, into, start, loudness * 0.5, [0.008, 0.01, length]);
    const filter = context.createBiquadFilter();
    filter.type = 'bandpass';
    filter.frequency.value = 5200;
    filter.Q.value = 0.6;
    filter.connect(out);
    const noise = context.createBufferSource();
    noise.buffer = noiseBuffer(context);
    noise.connect(filter);
    noise.start(start, (start * 7.31) % 0.5, length * 2);
  },
  kick(context, note, into) {
    const { start, length, loudness } = note;
    const out = envelope(context, into, start, loudness * 0.8, [0.004, 0.03, length]);
    const oscillator = context.createOscillator();
    oscillator.frequency.setValueAtTime(110, start);
    oscillator.frequency.exponentialRampToValueAtTime(44, start + 0.09);
    oscillator.connect(out);
    oscillator.start(start);
    oscillator.stop(start + length * 2);
  },
};

function tone(
  context: BaseAudioContext,
  into: AudioNode,
  type: OscillatorType,
  { pitch, start, length }: Pick<Sounding, 'pitch' | 'start' | 'length'>,
  detune: number,
  tail: number,
  gain = 1,
): void {
  const oscillator = context.createOscillator();
  oscillator.type = type;
  oscillator.frequency.value = 440 * 2 ** ((pitch - 69) / 12);
  oscillator.detune.value = detune;
  const level = context.createGain();
  level.gain.value = gain;
  oscillator.connect(level).connect(into);
  oscillator.start(start);
  oscillator.stop(start + length + tail);
}

/** A gain that rises, stays and fades; the times are attack, hold and release. */
function envelope(
  context: BaseAudioContext,
  into: AudioNode,
  start: number,
  peak: number,
  [attack, hold, release]: [number, number, number],
): GainNode {
  const node = context.createGain();
  node.gain.setValueAtTime(0, start);
  node.gain.linearRampToValueAtTime(peak, start + attack);
  node.gain.setValueAtTime(peak, start + attack + Math.max(0, hold));
  node.gain.setTargetAtTime(0, start + attack + Math.max(0, hold), release / 3.5);
  node.connect(into);
  return node;
}

function lowpass(context: BaseAudioContext, into: AudioNode, frequency: number, q: number): BiquadFilterNode {
  const filter = context.createBiquadFilter();
  filter.type = 'lowpass';
  filter.frequency.value = frequency;
  filter.Q.value = q;
  filter.connect(into);
  return filter;
}

function noiseBuffer(context: BaseAudioContext): AudioBuffer {
  const buffer = context.createBuffer(1, context.sampleRate, context.sampleRate);
  const samples = buffer.getChannelData(0);
  // A fixed pseudo-random sequence, so that the piece sounds the same every time.
  let state = 22_695_477;
  for (let index = 0; index < samples.length; index++) {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    samples[index] = state / 2 ** 31 - 1;
  }
  return buffer;
}
