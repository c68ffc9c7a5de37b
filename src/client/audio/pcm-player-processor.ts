/**
 * The worklet behind `AudioPlayer`. It is loaded as a file of its own and imports nothing, so that it works from any
 * server and through any bundler. Outside a worklet it only exports the buffer.
 */

/** How long sound takes to come and to go, so that nothing clicks. */
const FADE_MS = 5;
/** What is gathered in addition after sound came too late, and at most. */
const PATIENCE_STEP_MS = 40;
const PATIENCE_MAX_MS = 240;
/** After how much sound without a gap one step of patience is taken back. */
const STEADY_MS = 10_000;

/** Sound of one utterance without a gap. */
interface Run {
  readonly n: number;
  /** How many samples of the utterance stand before the next one. */
  at: number;
  /** How many samples are left. */
  length: number;
  readonly pieces: Float32Array[];
  /** How many samples of the first piece have been played. */
  offset: number;
}

/** Where playing is: of which utterance, and how many of its samples are behind it. */
export interface Place {
  n: number;
  at: number;
}

/**
 * Sound between the network and the loudspeaker. It plays from the first piece on; when the next one comes too late it
 * fades out, gathers a little more than before, and fades in again. Nothing is played twice, and what is lost is a jump.
 */
export class PlayoutBuffer {
  /** Which sample comes next; null before the first one. */
  place: Place | null = null;
  /** How many samples wait. */
  queued = 0;
  /** How often sound came too late. */
  gaps = 0;
  isPlaying = false;
  private readonly runs: Run[] = [];
  private readonly fade: number;
  private readonly perMs: number;
  private readonly capacity: number;
  private gain = 0;
  /** Samples that are gathered before sound begins. */
  private patience = 0;
  private waited = 0;
  private steady = 0;
  /** The end of what came last. */
  private newest: Place | null = null;
  /** The utterance of which nothing more is wanted. */
  private unwanted: number | null = null;
  /** The utterance of which nothing more will come. */
  private complete: number | null = null;

  constructor(rate: number, maxSeconds: number) {
    this.perMs = rate / 1000;
    this.fade = Math.round(FADE_MS * this.perMs);
    this.capacity = rate * maxSeconds;
  }

  /** Takes samples of an utterance, the first of which stands at a place; what came already is left out. */
  push(n: number, at: number, samples: Float32Array): void {
    if (n === this.unwanted) return;
    const { newest } = this;
    const known = newest?.n === n ? Math.max(0, newest.at - at) : 0;
    if (known >= samples.length) return;
    const fresh = known > 0 ? samples.subarray(known) : samples;
    const start = at + known;
    let run = this.runs.at(-1);
    if (!run || run.n !== n || newest?.at !== start) {
      run = { n, at: start, length: 0, pieces: [], offset: 0 };
      this.runs.push(run);
    }
    run.pieces.push(fresh);
    run.length += fresh.length;
    this.queued += fresh.length;
    this.newest = { n, at: start + fresh.length };
    if (this.queued > this.capacity) this.cut(this.queued - this.capacity);
  }

  /** Says that an utterance is complete: the rest of it is played without waiting for more. */
  end(n: number): void {
    this.complete = n;
  }

  /** Silence at once, but for a fade; nothing more of the newest utterance is wanted. */
  flush(): void {
    this.unwanted = this.newest?.n ?? null;
    this.cut(this.queued);
  }

  /** Fills a block with what is heard next. */
  read(out: Float32Array): void {
    let filled = 0;
    if (this.isPlaying || this.mayBegin(out.length)) {
      while (filled < out.length) {
        const [run] = this.runs;
        if (!run) {
          this.starve();
          break;
        }
        filled += this.play(run, out, filled);
      }
    }
    out.fill(0, filled);
  }

  /** Plays one piece of a run as far as it fits; returns how many samples that were. */
  private play(run: Run, out: Float32Array, from: number): number {
    const [piece = new Float32Array()] = run.pieces;
    const count = Math.min(out.length - from, piece.length - run.offset);
    for (let i = 0; i < count; i++) {
      // The last samples before a jump, or before nothing, are faded.
      const isHeard = run.length - i > this.fade;
      this.gain = Math.max(0, Math.min(1, this.gain + (isHeard ? 1 : -1) / this.fade));
      out[from + i] = (piece[run.offset + i] ?? 0) * this.gain;
    }
    this.advance(run, count);
    this.steady += count;
    if (this.steady > STEADY_MS * this.perMs) {
      this.steady = 0;
      this.patience = Math.max(0, this.patience - PATIENCE_STEP_MS * this.perMs);
    }
    return count;
  }

  private advance(run: Run, count: number): void {
    run.offset += count;
    run.at += count;
    run.length -= count;
    this.queued -= count;
    this.place = { n: run.n, at: run.at };
    if (run.offset === run.pieces[0]?.length) {
      run.pieces.shift();
      run.offset = 0;
    }
    if (run.length === 0) this.runs.shift();
  }

  /** Drops so many samples of what comes next, but for the few in which what plays fades out. */
  private cut(count: number): void {
    // What nobody has heard is no place that was reached.
    const { place } = this;
    const [run] = this.runs;
    const start = run && { n: run.n, at: run.at };
    const last = this.take(run && this.isPlaying ? Math.min(this.fade, run.length) : 0);
    this.take(count);
    if (start && last.length > 0) {
      this.runs.unshift({ ...start, length: last.length, pieces: [last], offset: 0 });
      this.queued += last.length;
    }
    this.place = place;
  }

  /** Takes the next samples out, or as many as there are. */
  private take(count: number): Float32Array {
    const taken = new Float32Array(Math.min(count, this.queued));
    for (let filled = 0; filled < taken.length; ) {
      const [run] = this.runs;
      const [piece] = run?.pieces ?? [];
      if (!run || !piece) break;
      const some = piece.subarray(run.offset, run.offset + taken.length - filled);
      taken.set(some, filled);
      filled += some.length;
      this.advance(run, some.length);
    }
    return taken;
  }

  /** Nothing is there to be played. */
  private starve(): void {
    this.isPlaying = false;
    this.gain = 0;
    this.waited = 0;
    const n = this.newest?.n;
    if (n === this.complete || n === this.unwanted) return;
    this.gaps++;
    this.steady = 0;
    this.patience = Math.min(PATIENCE_MAX_MS, this.patience / this.perMs + PATIENCE_STEP_MS) * this.perMs;
  }

  private mayBegin(block: number): boolean {
    if (this.queued === 0) return false;
    this.waited += block;
    this.isPlaying =
      this.queued >= this.patience || this.waited > this.patience || this.newest?.n === this.complete;
    return this.isPlaying;
  }
}

/** What the player tells its worklet when it makes it. */
export interface PlayerSettings {
  maxSeconds: number;
}

/** What the player tells its worklet while it runs. */
export type PlayerOrder =
  | { type: 'push'; n: number; at: number; samples: Float32Array<ArrayBuffer> }
  | { type: 'end'; n: number }
  | { type: 'flush' };

/** What the worklet says of itself every few blocks, and at the moment of its clock. */
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

/** Blocks of 128 samples between two reports: some 20 ms. */
const REPORT_BLOCKS = 4;

declare const registerProcessor: ((name: string, processor: unknown) => void) | undefined;
declare const sampleRate: number;
declare const currentTime: number;
declare const AudioWorkletProcessor: new () => { readonly port: Port };

if (typeof registerProcessor === 'function') {
  registerProcessor(
    'pcm-player-processor',
    class extends AudioWorkletProcessor {
      private readonly buffer: PlayoutBuffer;
      private blocks = 0;
      private wasPlaying = false;

      constructor({ processorOptions }: { processorOptions: PlayerSettings }) {
        super();
        const buffer = new PlayoutBuffer(sampleRate, processorOptions.maxSeconds);
        this.buffer = buffer;
        this.port.onmessage = ({ data }) => {
          if (data.type === 'push') buffer.push(data.n, data.at, data.samples);
          else if (data.type === 'end') buffer.end(data.n);
          else buffer.flush();
        };
      }

      process(_: unknown, outputs: Float32Array[][]): boolean {
        const { buffer } = this;
        const out = outputs[0]?.[0];
        if (out) buffer.read(out);
        const { place, queued, gaps, isPlaying } = buffer;
        this.blocks++;
        if (isPlaying !== this.wasPlaying || (isPlaying && this.blocks % REPORT_BLOCKS === 0))
          this.port.postMessage({ place, queued, gaps, isPlaying, time: currentTime });
        this.wasPlaying = isPlaying;
        return true;
      }
    },
  );
}
