import { now } from './clock.ts';
import { callsOf, deltaAt, type Load } from './load.ts';

/** What one piece of an answer is to the benchmark. */
export interface Heard {
  text?: string;
  /** So many tools were called. */
  calls?: number;
  /** The person is asked. */
  card?: true;
}

/** Listens to one stream: notes when each delta came, and that nothing is missing or changed. */
export class Listener {
  /** When each delta was here. */
  readonly received: Float64Array;
  askedAt = Number.NaN;
  private readonly load: Load;
  private next = 0;
  /** What of the next delta is here already. */
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
    let said = this.rest + text;
    const time = now();
    while (said !== '') {
      const delta = deltaAt(this.next);
      if (!said.startsWith(delta)) {
        if (delta.startsWith(said)) break;
        throw new Error(
          `Delta ${this.next} should be ${JSON.stringify(delta)}, not ${JSON.stringify(said)}.`,
        );
      }
      this.received[this.next++] = time;
      said = said.slice(delta.length);
    }
    this.rest = said;
  }

  /** Everything must have come, once. */
  check(): void {
    const { deltas } = this.load;
    const calls = callsOf(deltas);
    if (this.next === deltas && this.rest === '' && this.calls === calls && this.cards === 1) return;
    throw new Error(
      `${this.next} of ${deltas} deltas, ${this.calls} of ${calls} calls and ${this.cards} of 1 cards came.`,
    );
  }
}
