/** How fast the model emits deltas. */
export type Pace = 'tick1' | 'tick8' | 'pace20';

/** One measured exchange: the number of simultaneous clients, the number of deltas for each, and the pace. */
export interface Load {
  pace: Pace;
  streams: number;
  deltas: number;
}

/** A description of each pace. */
export const PACES: Record<Pace, string> = {
  tick1: 'one delta a turn of the event loop',
  tick8: 'eight deltas a turn of the event loop',
  pace20: 'one delta every 20 ms',
};

/** Deltas of one model call. With the two ends of its text and the three chunks of each tool call, 5 % are not text. */
export const DELTAS_IN_A_STEP = 190;

/** Tool calls at the end of each model call; the last model call of a turn ends with an approval request. */
export const CALLS_IN_A_STEP = 3;

/** The arguments and the output of the tool, the same for every variant. */
export const WEATHER = { args: { location: 'Tokyo' }, output: { location: 'Tokyo', temperature: 20 } };

/** The call that needs approval at the end of every turn, the same for every variant. */
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

/** All different deltas; a stream repeats this list from the start when it is used up. */
export const DELTAS: readonly string[] = Array.from({ length: 84 }, (_, n) => `${WORDS[n % 12]}${n % 7}`);

/** The n-th delta of a stream. */
export function deltaAt(n: number): string {
  return DELTAS[n % DELTAS.length] ?? '';
}

/** The text of the user message: the number of the stream, its deltas and its pace. */
export function question(stream: number, { deltas, pace }: Load): string {
  return `${stream} ${deltas} ${pace}`;
}

/** The number of model calls for that many deltas. */
export function stepsOf(deltas: number): number {
  return Math.ceil(deltas / DELTAS_IN_A_STEP);
}

/** The number of tool calls in such a turn, including the one that needs approval. */
export function callsOf(deltas: number): number {
  return (stepsOf(deltas) - 1) * CALLS_IN_A_STEP + 1;
}
