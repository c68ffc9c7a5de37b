import type { SpeechToText, TextToSpeech } from 'duologue/models';
import { bestTranscript, sameWords } from './best-transcript.ts';
import { FetchedParts, type FetchState } from './fetched-parts.ts';
import { JobWorker } from './job-worker.ts';
import { SPEECH_TO_TEXT, TEXT_TO_SPEECH } from './parts.ts';
import { Recording } from './recording.ts';
import { cutToSpeech, type Margins } from './speech-cut.ts';
import { StableWords } from './stable-words.ts';

/** The amount of new audio after which the recogniser runs again during speech: one second at 16 kHz. */
const BETWEEN_LOOKS = 16_000;
/** No interim transcripts beyond this length, because they would delay the final one: 8 s. */
const LONGEST_LOOK = 128_000;
/** Shorter recordings are accidental presses: a fifth of a second at 16 kHz. */
const SHORTEST = 3200;
/**
 * How much quiet the recogniser gets around speech. The whole utterance is recognised with the first two margins. If the results differ
 * or are empty, it is recognised with the third too, because a small model mishears other words with other margins.
 */
const MARGINS: readonly [Margins, Margins, Margins] = [
  { beforeMs: 100, afterMs: 500 },
  { beforeMs: 100, afterMs: 200 },
  { beforeMs: 50, afterMs: 100 },
];

/**
 * Speech-to-text and text-to-speech for any model. They need no key, and work offline after a download of 39 MB on first use. Speech is
 * recognised in English only; texts are spoken in English and Japanese.
 */
export class Voice {
  private readonly fetched: FetchedParts;
  private readonly recogniser: JobWorker;
  private readonly speaker: JobWorker;
  private readonly expected: ReadonlySet<string>;

  /** `expected`: words in small letters that people are likely to say. Of several transcripts, the one with the most of them is chosen. */
  constructor(options: { folder: string; registry: string; expected?: Iterable<string> }) {
    this.expected = new Set(options.expected);
    this.fetched = new FetchedParts([...SPEECH_TO_TEXT, ...TEXT_TO_SPEECH], options);
    this.recogniser = new JobWorker(new URL('./recognise-worker.js', import.meta.url), options.folder);
    this.speaker = new JobWorker(new URL('./speak-worker.js', import.meta.url), options.folder);
  }

  get now(): FetchState {
    return this.fetched.now;
  }

  /** Starts the download of missing files, unless it runs already. `now` reports its progress and errors. */
  prepare(): void {
    this.fetched.prepare();
  }

  readonly speechToText: SpeechToText = async (sound, { signal, onPartial }) => {
    if (this.now.status === 'ready') for (const worker of [this.recogniser, this.speaker]) worker.warm();
    const recording = new Recording();
    const stable = new StableWords();
    const isOver = new AbortController();
    const look = async () => {
      const cut = cutToSpeech(recording.whole(), MARGINS[0]);
      const words = await this.transcribed(cut, AbortSignal.any([signal, isOver.signal]));
      const further = stable.push(words);
      if (further !== '') onPartial(further);
    };
    let seen = 0;
    for await (const samples of sound) {
      recording.push(samples);
      const { length } = recording;
      if (length - seen < BETWEEN_LOOKS || length > LONGEST_LOOK) continue;
      // Interim transcripts are optional, so they never delay another job.
      if (this.now.status !== 'ready' || !this.recogniser.isFree) continue;
      seen = length;
      // An error here is reported by the final transcription.
      look().catch(() => undefined);
    }
    isOver.abort();
    this.check();
    return recording.length < SHORTEST ? '' : this.understood(recording.whole(), signal);
  };

  readonly textToSpeech: TextToSpeech = (text, { signal }) => this.spoken(text, signal);

  async close(): Promise<void> {
    this.fetched.close();
    await Promise.all([this.recogniser.close(), this.speaker.close()]);
  }

  /** The text of a whole utterance. */
  private async understood(sound: Int16Array, signal: AbortSignal): Promise<string> {
    const transcript = (margins: Margins) => this.transcribed(cutToSpeech(sound, margins), signal);
    const [first, second, third] = MARGINS;
    const transcripts = [await transcript(first), await transcript(second)] as const;
    if (transcripts[0] !== '' && sameWords(...transcripts)) return transcripts[0];
    return bestTranscript([...transcripts, await transcript(third)], this.expected);
  }

  private async transcribed(sound: Int16Array, signal: AbortSignal): Promise<string> {
    let text = '';
    for await (const value of this.done(this.recogniser, sound, signal)) text = String(value);
    return text;
  }

  private async *spoken(text: string, signal: AbortSignal): AsyncGenerator<Int16Array, void> {
    this.check();
    for await (const samples of this.done(this.speaker, text, signal)) {
      if (samples instanceof Int16Array) yield samples;
    }
  }

  /** Runs a job. When it fails because files were removed, `now` becomes `absent`, so that they can be downloaded again. */
  private async *done(worker: JobWorker, job: unknown, signal: AbortSignal): AsyncGenerator<unknown, void> {
    try {
      yield* worker.run(job, signal);
    } catch (error) {
      this.fetched.look();
      this.check();
      throw error;
    }
  }

  /** Throws an error for the user while files of voice are missing. */
  private check(): void {
    const state = this.now;
    if (state.status === 'ready') return;
    if (state.status === 'fetching') {
      throw new Error(`voice is still being downloaded (${mega(state.bytes)} of ${mega(state.total)} MB).`);
    }
    if (state.status === 'failed') throw new Error(`voice could not be downloaded. ${state.message}`);
    throw new Error(`voice has not been downloaded yet (${mega(state.total)} MB).`);
  }
}

function mega(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}
