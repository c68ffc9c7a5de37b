/**
 * The audio worklet of `AudioPlayer`. The browser loads this file separately. The file imports nothing, so that any server can serve it
 * and any bundler can copy it. Outside a worklet it only exports `PlayoutBuffer`.
 */

/** The length of a fade-in or fade-out, which avoids clicks. */
const FADE_MS = 5;
/** How much longer to buffer after sound arrived too late, and the longest time to buffer. */
const BUFFER_STEP_MS = 40;
const BUFFER_MAX_MS = 240;
/** After this many milliseconds of sound without a gap, the buffering time is reduced by one step. */
const STEADY_MS = 10_000;

/** Consecutive samples of one utterance. */
interface Run {
  readonly n: number;
  /** The position of the next sample in the utterance. */
  at: number;
  /** How many samples are left. */
  length: number;
  readonly pieces: Float32Array[];
  /** How many samples of the first piece were played. */
  offset: number;
}

/** A position in the agent's sound: the number of the utterance (`n`), and how many samples of that utterance come before it (`at`). */
export interface Place {
  n: number;
  at: number;
}

/**
 * Buffers sound between the network and the loudspeaker. It starts to play with the first piece. When a later piece arrives too late, the
 * buffer fades out, collects a little more sound than before, and fades in again. It plays no sample twice, and skips lost samples.
 */
export class PlayoutBuffer {
  /** The position after the newest sample that was played; null before the first one. */
  place: Place | null = null;
  /** How many samples wait to be played. */
  queued = 0;
  /** How often sound arrived too late. */
  gaps = 0;
  isPlaying = false;
  readonly #runs: Run[] = [];
  readonly #fade: number;
  readonly #perMs: number;
  readonly #capacity: number;
  #gain = 0;
  /** How many samples to buffer before playing starts. */
  #buffering = 0;
  #waited = 0;
  #steady = 0;
  /** The position after the newest piece. */
  #newest: Place | null = null;
  /** The number of the utterance that was flushed. Its later pieces are dropped. */
  #unwanted: number | null = null;
  /** The number of the utterance that is complete, so that no more pieces follow. */
  #complete: number | null = null;

  constructor(rate: number, maxSeconds: number) {
    this.#perMs = rate / 1000;
    this.#fade = Math.round(FADE_MS * this.#perMs);
    this.#capacity = rate * maxSeconds;
  }

  /** Adds samples of an utterance. `at` is the position of the first one. Ignores samples that an earlier call already added. */
  push(n: number, at: number, samples: Float32Array): void {
    if (n === this.#unwanted) return;
    const newest = this.#newest;
    const known = newest?.n === n ? Math.max(0, newest.at - at) : 0;
    if (known >= samples.length) return;
    const fresh = known > 0 ? samples.subarray(known) : samples;
    const start = at + known;
    let run = this.#runs.at(-1);
    if (!run || run.n !== n || newest?.at !== start) {
      run = { n, at: start, length: 0, pieces: [], offset: 0 };
      this.#runs.push(run);
    }
    run.pieces.push(fresh);
    run.length += fresh.length;
    this.queued += fresh.length;
    this.#newest = { n, at: start + fresh.length };
    if (this.queued > this.#capacity) this.#cut(this.queued - this.#capacity);
  }

  /** Marks an utterance as complete, so that its last samples are played without waiting for more. */
  end(n: number): void {
    this.#complete = n;
  }

  /** Fades out at once, and drops all samples that wait and later pieces of the newest utterance. */
  flush(): void {
    this.#unwanted = this.#newest?.n ?? null;
    this.#cut(this.queued);
  }

  /** Fills a block with the next samples, or with silence. */
  read(out: Float32Array): void {
    let filled = 0;
    if (this.isPlaying || this.#mayBegin(out.length)) {
      while (filled < out.length) {
        const [run] = this.#runs;
        if (!run) {
          this.#starve();
          break;
        }
        filled += this.#play(run, out, filled);
      }
    }
    out.fill(0, filled);
  }

  /** Copies the rest of the first piece of a run to `out`, as far as it fits. Returns the number of copied samples. */
  #play(run: Run, out: Float32Array, from: number): number {
    const [piece = new Float32Array()] = run.pieces;
    const count = Math.min(out.length - from, piece.length - run.offset);
    for (let i = 0; i < count; i++) {
      // The last samples of a run fade out, because no sample that follows them has arrived.
      const isHeard = run.length - i > this.#fade;
      this.#gain = Math.max(0, Math.min(1, this.#gain + (isHeard ? 1 : -1) / this.#fade));
      out[from + i] = (piece[run.offset + i] ?? 0) * this.#gain;
    }
    this.#advance(run, count);
    this.#steady += count;
    if (this.#steady > STEADY_MS * this.#perMs) {
      this.#steady = 0;
      this.#buffering = Math.max(0, this.#buffering - BUFFER_STEP_MS * this.#perMs);
    }
    return count;
  }

  #advance(run: Run, count: number): void {
    run.offset += count;
    run.at += count;
    run.length -= count;
    this.queued -= count;
    this.place = { n: run.n, at: run.at };
    if (run.offset === run.pieces[0]?.length) {
      run.pieces.shift();
      run.offset = 0;
    }
    if (run.length === 0) this.#runs.shift();
  }

  /** Drops the next `count` samples. While sound is playing, the samples of its fade-out come first and are kept. */
  #cut(count: number): void {
    // `#take` advances the position, but dropped samples were not heard: restore the position afterwards.
    const { place } = this;
    const [run] = this.#runs;
    const start = run && { n: run.n, at: run.at };
    const last = this.#take(run && this.isPlaying ? Math.min(this.#fade, run.length) : 0);
    this.#take(count);
    if (start && last.length > 0) {
      this.#runs.unshift({ ...start, length: last.length, pieces: [last], offset: 0 });
      this.queued += last.length;
    }
    this.place = place;
  }

  /** Removes and returns the next `count` samples, or all of them if fewer are queued. */
  #take(count: number): Float32Array {
    const taken = new Float32Array(Math.min(count, this.queued));
    for (let filled = 0; filled < taken.length; ) {
      const [run] = this.#runs;
      const [piece] = run?.pieces ?? [];
      if (!run || !piece) break;
      const some = piece.subarray(run.offset, run.offset + taken.length - filled);
      taken.set(some, filled);
      filled += some.length;
      this.#advance(run, some.length);
    }
    return taken;
  }

  /** Handles an empty buffer: stops playing and, if more samples of the utterance are expected, counts a gap. */
  #starve(): void {
    this.isPlaying = false;
    this.#gain = 0;
    this.#waited = 0;
    const n = this.#newest?.n;
    if (n === this.#complete || n === this.#unwanted) return;
    this.gaps++;
    this.#steady = 0;
    this.#buffering = Math.min(BUFFER_MAX_MS, this.#buffering / this.#perMs + BUFFER_STEP_MS) * this.#perMs;
  }

  #mayBegin(block: number): boolean {
    if (this.queued === 0) return false;
    this.#waited += block;
    this.isPlaying =
      this.queued >= this.#buffering || this.#waited > this.#buffering || this.#newest?.n === this.#complete;
    return this.isPlaying;
  }
}

/** The settings of the worklet. */
export interface PlayerSettings {
  maxSeconds: number;
}

/** Messages of the player to its worklet. */
export type PlayerOrder =
  | { type: 'push'; n: number; at: number; samples: Float32Array<ArrayBuffer> }
  | { type: 'end'; n: number }
  | { type: 'flush' };

/**
 * What the worklet reports to the player: about every 20 ms while it plays, and when it starts or stops playing. `time` is the time of the audio clock,
 * in seconds.
 */
export interface PlayerReport {
  place: Place | null;
  queued: number;
  gaps: number;
  isPlaying: boolean;
  time: number;
}

interface Port {
  onmessage: ((event: { data: PlayerOrder }) => void) | null;
  postMessage(message: PlayerReport): void;
}

/** The number of blocks (128 samples each) between two reports: about 20 ms. */
const REPORT_BLOCKS = 4;

declare const registerProcessor: ((name: string, processor: unknown) => void) | undefined;
declare const sampleRate: number;
declare const currentTime: number;
declare const AudioWorkletProcessor: new () => { readonly port: Port };

if (typeof registerProcessor === 'function') {
  registerProcessor(
    'pcm-player-processor',
    class extends AudioWorkletProcessor {
      readonly #buffer: PlayoutBuffer;
      #blocks = 0;
      #wasPlaying = false;

      constructor({ processorOptions }: { processorOptions: PlayerSettings }) {
        super();
        const buffer = new PlayoutBuffer(sampleRate, processorOptions.maxSeconds);
        this.#buffer = buffer;
        this.port.onmessage = ({ data }) => {
          if (data.type === 'push') buffer.push(data.n, data.at, data.samples);
          else if (data.type === 'end') buffer.end(data.n);
          else buffer.flush();
        };
      }

      process(_: unknown, outputs: Float32Array[][]): boolean {
        const buffer = this.#buffer;
        const out = outputs[0]?.[0];
        if (out) buffer.read(out);
        const { place, queued, gaps, isPlaying } = buffer;
        this.#blocks++;
        if (isPlaying !== this.#wasPlaying || (isPlaying && this.#blocks % REPORT_BLOCKS === 0))
          this.port.postMessage({ place, queued, gaps, isPlaying, time: currentTime });
        this.#wasPlaying = isPlaying;
        return true;
      }
    },
  );
}
