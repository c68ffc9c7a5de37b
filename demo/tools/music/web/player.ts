import { ERRORS } from '../texts/index.ts';
import type { TrackNumber } from './score.ts';
import type { Sequencer } from './sequencer.ts';

/** The state of the player. */
export interface MusicState {
  track: TrackNumber | null;
  isPlaying: boolean;
  volume: number;
}

/** The share of the volume that is left during speech, and how quickly the volume falls and rises again. */
const UNDER_SPEECH = 0.2;
const DUCK_S = 0.12;
const RETURN_S = 0.5;
const CROSSFADE_S = 1.6;
const TIMEOUT_MS = 1500;

/** Plays one of two pieces in a loop, and crossfades between them. */
export class MusicPlayer {
  private context: AudioContext | null = null;
  private master: GainNode | null = null;
  private playing: { track: TrackNumber; gain: GainNode; sequencer: Sequencer } | null = null;
  private readonly watchers = new Set<() => void>();
  private current: MusicState = { track: null, isPlaying: false, volume: 0.6 };
  private wish = 0;
  private isDucked = false;

  get state(): MusicState {
    return this.current;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.watchers.add(listener);
    return () => this.watchers.delete(listener);
  };

  /** Plays a track, and fades out the one that played before. Rejects with a text for the user when the browser allows no sound. */
  async play(track: TrackNumber, signal?: AbortSignal): Promise<void> {
    const wish = ++this.wish;
    const { context, master } = this.open();
    const [{ SCORES }, { Sequencer }] = await Promise.all([
      import('./score.ts'),
      import('./sequencer.ts'),
      awake(context),
    ]);
    signal?.throwIfAborted();
    // Another track was requested in the meantime, or this one is already playing.
    if (wish !== this.wish || this.playing?.track === track) return;
    this.fadeOut();
    const gain = new GainNode(context, { gain: 0 });
    gain.gain.setValueAtTime(0, context.currentTime);
    gain.gain.linearRampToValueAtTime(1, context.currentTime + CROSSFADE_S);
    gain.connect(master);
    const sequencer = new Sequencer(context, SCORES[track], gain);
    sequencer.start();
    this.playing = { track, gain, sequencer };
    this.become({ track, isPlaying: true });
  }

  pause(): void {
    this.wish++;
    this.fadeOut();
    this.become({ isPlaying: false });
  }

  setVolume(volume: number): void {
    this.become({ volume });
    this.glide(0.05);
  }

  /** Lowers the volume while the user or the agent speaks. */
  duck(isDucked: boolean): void {
    this.isDucked = isDucked;
    this.glide(isDucked ? DUCK_S : RETURN_S);
  }

  private get gain(): number {
    return this.current.volume ** 2 * (this.isDucked ? UNDER_SPEECH : 1);
  }

  private glide(seconds: number): void {
    if (this.context) this.master?.gain.setTargetAtTime(this.gain, this.context.currentTime, seconds);
  }

  private open(): { context: AudioContext; master: GainNode } {
    this.context ??= new AudioContext({ latencyHint: 'playback' });
    if (!this.master) {
      this.master = new GainNode(this.context, { gain: this.gain });
      this.master.connect(this.context.destination);
    }
    return { context: this.context, master: this.master };
  }

  private fadeOut(): void {
    const { playing, context } = this;
    this.playing = null;
    if (!playing || !context) return;
    const { gain, sequencer } = playing;
    sequencer.stop();
    gain.gain.cancelScheduledValues(context.currentTime);
    gain.gain.setValueAtTime(gain.gain.value, context.currentTime);
    gain.gain.linearRampToValueAtTime(0, context.currentTime + CROSSFADE_S);
    setTimeout(() => gain.disconnect(), (CROSSFADE_S + 0.2) * 1000);
  }

  private become(change: Partial<MusicState>): void {
    this.current = { ...this.current, ...change };
    for (const watcher of [...this.watchers]) watcher();
  }
}

/**
 * Starts the audio context. A browser allows no sound before the first input of the user, and until then the promise of
 * `resume` may never settle. So this waits for a limited time, and throws when the context does not run by then.
 */
async function awake(context: AudioContext): Promise<void> {
  if (context.state === 'running') return;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, TIMEOUT_MS);
  });
  await Promise.race([context.resume(), late]);
  clearTimeout(timer);
  if ((context.state as AudioContextState) !== 'running') {
    throw new Error(ERRORS.blocked);
  }
}
