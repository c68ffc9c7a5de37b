import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Spread } from './stats.ts';

/** One result: a ratio, what it compares, and what it should be. */
export interface Figure {
  /** What was measured, in words. */
  name: string;
  ratio: Spread;
  goal?: { atMost: number } | { atLeast: number };
  /** The ratio of the base with itself in the same measurement, where there is one. */
  noise?: number;
}

/** Where a part leaves its results for the report of the whole run. */
const FILE = process.env.BENCH_FIGURES;

/** Hands the results of a part to the run that started it; without one they are only printed. */
export function submit(figures: Figure[], detail: unknown = null): void {
  if (FILE) writeFileSync(FILE, JSON.stringify({ figures, detail }));
}

/** What a part handed in. */
export function submitted(file: string): { figures: Figure[]; detail: unknown } | null {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null;
}

/** Whether a figure reached its goal; nothing when it has none, or when the machine was too busy to tell. */
export function verdict({ ratio, goal, noise }: Figure): 'met' | 'missed' | 'invalid' | '' {
  if (noise !== undefined && (noise < 0.9 || noise > 1.1)) return 'invalid';
  if (!goal) return '';
  const isMet = 'atMost' in goal ? ratio.median <= goal.atMost : ratio.median >= goal.atLeast;
  return isMet ? 'met' : 'missed';
}

/** A goal as it is written. */
export function goalText(goal: Figure['goal']): string {
  if (!goal) return '';
  return 'atMost' in goal ? `at most ${goal.atMost}` : `at least ${goal.atLeast}`;
}
