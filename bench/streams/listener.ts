import { now } from './clock.ts';
import { callsOf, deltaAt, type Load } from './load.ts';

/** The meaning of one chunk for the benchmark. */
export interface Heard {
  text?: string;
  /** The number of tool calls in the chunk. */
  calls?: number;
  /** An approval request. */
  card?: true;
}

/** Reads one stream: records the arrival time of each delta, and checks that no delta is missing or changed. */
export class Listener {
  /** The arrival time of each delta. */
  readonly received: Float64Array;
  askedAt = Number.NaN;
  private readonly load: Load;
  private next = 0;
  /** The part of the next delta that has arrived. */
  private rest = '';
  private calls = 0;
  private cards = 0;

  constructor(load: Load) {
    this.load = load;
    this.received = new Float64Array(load.deltas);
  }

  get hasCard(): boolean {
    return this.cards > 0;
  }

  hear({ text, calls = 0, card }: Heard): void {
    this.calls += calls;
    if (card) this.cards++;
    if (!text) return;
    let texts = this.rest + text;
    const time = now();
    while (texts !== '') {
      const delta = deltaAt(this.next);
      if (!texts.startsWith(delta)) {
        if (delta.startsWith(texts)) break;
        throw new Error(
          `Delta ${this.next} should be ${JSON.stringify(delta)}, not ${JSON.stringify(texts)}.`,
        );
      }
      this.received[this.next++] = time;
      texts = texts.slice(delta.length);
    }
    this.rest = texts;
  }

  /** Checks that every delta and call arrived exactly once. */
  check(): void {
    const { deltas } = this.load;
    const calls = callsOf(deltas);
    if (this.next === deltas && this.rest === '' && this.calls === calls && this.cards === 1) return;
    throw new Error(
      `${this.next} of ${deltas} deltas, ${this.calls} of ${calls} calls and ${this.cards} of 1 cards came.`,
    );
  }
}
