import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Spread } from './stats.ts';

/** One result: a ratio, the two compared things, and the goal. */
export interface Figure {
  /** A description of the measurement. */
  name: string;
  ratio: Spread;
  goal?: { atMost: number } | { atLeast: number };
  /** The ratio of the base with itself in the same measurement, where there is one. */
  noise?: number;
}

/** The file in which a benchmark leaves its results for the report of the whole run. */
const FILE = process.env.BENCH_FIGURES;

/** Passes the results of a benchmark to the run that started it. A benchmark started alone only prints them. */
export function submit(figures: Figure[], detail: unknown = null): void {
  if (FILE) writeFileSync(FILE, JSON.stringify({ figures, detail }));
}

/** Reads the results that a benchmark passed on. */
export function submitted(file: string): { figures: Figure[]; detail: unknown } | null {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null;
}

/** Whether a figure reached its goal; empty without a goal, and `invalid` when the machine was too busy. */
export function verdict({ ratio, goal, noise }: Figure): 'met' | 'missed' | 'invalid' | '' {
  if (noise !== undefined && (noise < 0.9 || noise > 1.1)) return 'invalid';
  if (!goal) return '';
  const isMet = 'atMost' in goal ? ratio.median <= goal.atMost : ratio.median >= goal.atLeast;
  return isMet ? 'met' : 'missed';
}

/** A goal as text. */
export function goalText(goal: Figure['goal']): string {
  if (!goal) return '';
  return 'atMost' in goal ? `at most ${goal.atMost}` : `at least ${goal.atLeast}`;
}
