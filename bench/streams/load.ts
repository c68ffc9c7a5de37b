/** How deltas come from the model. */
export type Pace = 'tick1' | 'tick8' | 'pace20';

/** One measured exchange: so many people ask at once, and each gets so many deltas at that pace. */
export interface Load {
  pace: Pace;
  streams: number;
  deltas: number;
}

/** Each pace in words. */
export const PACES: Record<Pace, string> = {
  tick1: 'one delta a turn of the event loop',
  tick8: 'eight deltas a turn of the event loop',
  pace20: 'one delta every 20 ms',
};

/** Deltas of one model call. With the two ends of its text and the three chunks of each tool call, 5 % are not text. */
export const DELTAS_IN_A_STEP = 190;

/** Tool calls that a model call ends with; the last one of a turn ends with a card. */
export const CALLS_IN_A_STEP = 3;

/** What the tool is asked and answers, the same everywhere. */
export const WEATHER = { args: { location: 'Tokyo' }, output: { location: 'Tokyo', temperature: 20 } };

/** What the person is asked at the end of every turn, the same everywhere. */
export const PAYMENT = { amount: 30, recipient: 'Hanako' };

const WORDS = [
  'hello',
  ' the',
  ' weather',
  ' in',
  ' "Tokyo"',
  ' is',
  ' sunny',
  ' and',
  ' warm\n',
  ' とても',
  ' ok',
  '.',
];

/** Every delta there is; the n-th delta of a stream is the n-th of these, over and over. */
export const DELTAS: readonly string[] = Array.from({ length: 84 }, (_, n) => `${WORDS[n % 12]}${n % 7}`);

/** The n-th delta of a stream. */
export function deltaAt(n: number): string {
  return DELTAS[n % DELTAS.length] ?? '';
}

/** What the person says: which stream this is, and what it should be. */
export function question(stream: number, { deltas, pace }: Load): string {
  return `${stream} ${deltas} ${pace}`;
}

/** How many model calls it takes to say so much. */
export function stepsOf(deltas: number): number {
  return Math.ceil(deltas / DELTAS_IN_A_STEP);
}

/** How many tools are called in such a turn, the one that asks included. */
export function callsOf(deltas: number): number {
  return (stepsOf(deltas) - 1) * CALLS_IN_A_STEP + 1;
}
