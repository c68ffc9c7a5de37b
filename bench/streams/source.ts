import { setTimeout as sleep } from 'node:timers/promises';
import { now } from './clock.ts';
import { DELTAS_IN_A_STEP, deltaAt, type Load, type Pace, stepsOf } from './load.ts';

/** The parameters of a stream. */
interface Asked {
  stream: number;
  deltas: number;
  pace: Pace;
}

/** The scripted model output of every variant, with the time of each delta. */
export class Source {
  /** The time at which the model emitted each delta of each stream. */
  private emitted: Float64Array[] = [];
  private began: number[] = [];

  begin({ streams, deltas }: Load): void {
    this.emitted = Array.from({ length: streams }, () => new Float64Array(deltas));
    this.began = Array.from({ length: streams }, () => Number.NaN);
  }

  end(): Float64Array[] {
    return this.emitted;
  }

  /** One model call: the deltas of the step, each at its scheduled time. */
  async *step(question: string, step: number): AsyncGenerator<string, void> {
    const { stream, deltas, pace } = read(question);
    const times = this.emitted[stream];
    if (!times) throw new Error(`There is no stream ${question}.`);
    // Streams start up to 19 ms apart, because real users are not synchronised.
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

  /** Whether another step follows. Every step but the last ends with tool calls, the last one with the approval request. */
  hasNextStep(question: string, step: number): boolean {
    return step + 1 < stepsOf(read(question).deltas);
  }
}

function read(question: string): Asked {
  const [stream = '', deltas = '', pace = ''] = question.split(' ');
  return { stream: Number(stream), deltas: Number(deltas), pace: pace as Pace };
}
