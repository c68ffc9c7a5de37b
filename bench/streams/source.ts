import { setTimeout as sleep } from 'node:timers/promises';
import { now } from './clock.ts';
import { DELTAS_IN_A_STEP, deltaAt, type Load, type Pace, stepsOf } from './load.ts';

/** What a stream was asked for. */
interface Asked {
  stream: number;
  deltas: number;
  pace: Pace;
}

/** What the model of every variant says, and when it said it. */
export class Source {
  /** When each delta of each stream left the model. */
  private emitted: Float64Array[] = [];
  private began: number[] = [];

  begin({ streams, deltas }: Load): void {
    this.emitted = Array.from({ length: streams }, () => new Float64Array(deltas));
    this.began = Array.from({ length: streams }, () => Number.NaN);
  }

  end(): Float64Array[] {
    return this.emitted;
  }

  /** One model call: the deltas of the step, each at its time. */
  async *step(question: string, step: number): AsyncGenerator<string, void> {
    const { stream, deltas, pace } = read(question);
    const times = this.emitted[stream];
    if (!times) throw new Error(`There is no stream ${question}.`);
    // People do not ask in step: at a real pace each stream has its own beat.
    if (step === 0) this.began[stream] = now() + (stream % 20);
    const end = Math.min(deltas, (step + 1) * DELTAS_IN_A_STEP);
    for (let n = step * DELTAS_IN_A_STEP; n < end; n++) {
      if (pace === 'tick1' || (pace === 'tick8' && n % 8 === 0))
        await new Promise((resolve) => setImmediate(resolve));
      else if (pace === 'pace20') {
        const wait = (this.began[stream] ?? 0) + n * 20 - now();
        if (wait > 0) await sleep(wait);
      }
      times[n] = now();
      yield deltaAt(n);
    }
  }

  /** Whether a step is followed by a call of the tool; the last one ends with the card. */
  goesOn(question: string, step: number): boolean {
    return step + 1 < stepsOf(read(question).deltas);
  }
}

function read(question: string): Asked {
  const [stream = '', deltas = '', pace = ''] = question.split(' ');
  return { stream: Number(stream), deltas: Number(deltas), pace: pace as Pace };
}
