import { INSTRUMENTS } from './instruments.ts';
import { buildRoom } from './room.ts';
import type { Instrument, Note, Score } from './score.ts';

/** How far ahead notes are scheduled. In a tab in the background, timers run only once a second. */
const AHEAD_S = 2.5;
const EVERY_MS = 400;

/** Plays a score in a loop. Each note is scheduled shortly before it sounds. */
export class Sequencer {
  private readonly context: BaseAudioContext;
  private readonly voices: ReadonlyMap<Instrument, AudioNode>;
  private readonly notes: readonly (Note & { instrument: Instrument })[];
  private readonly beat: number;
  private readonly beats: number;
  private readonly origin: number;
  private next = 0;
  private timer: ReturnType<typeof setInterval> | undefined;

  constructor(context: BaseAudioContext, score: Score, into: AudioNode) {
    this.context = context;
    this.beat = 60 / score.beatsPerMinute;
    this.beats = score.beats;
    this.origin = context.currentTime + 0.05;
    const { dry, wet } = buildRoom(context, into);
    this.voices = new Map(
      score.voices.map(({ instrument, gain }) => {
        const level = context.createGain();
        level.gain.value = gain;
        level.connect(instrument === 'kick' || instrument === 'bass' ? dry : wet);
        return [instrument, level];
      }),
    );
    this.notes = score.voices
      .flatMap(({ instrument, notes }) => notes.map((note) => ({ ...note, instrument })))
      .toSorted((one, other) => one.at - other.at);
  }

  start(): void {
    this.place();
    this.timer = setInterval(() => this.place(), EVERY_MS);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private place(): void {
    const { currentTime } = this.context;
    for (;;) {
      const note = this.notes[this.next % this.notes.length];
      if (!note) return;
      const round = Math.floor(this.next / this.notes.length);
      const start = this.origin + (round * this.beats + note.at) * this.beat;
      if (start > currentTime + AHEAD_S) return;
      this.next++;
      // When the tab was asleep, notes whose time has passed are skipped.
      if (start < currentTime) continue;
      const { instrument, pitch, loudness, beats } = note;
      const sounding = { start, length: beats * this.beat, pitch, loudness };
      const voice = this.voices.get(instrument);
      if (voice) INSTRUMENTS[instrument](this.context, sounding, voice);
    }
  }
}
