import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StreamsDetail } from '../streams/run.ts';
import { type Figure, goalText, verdict } from './figure.ts';
import { plotBars } from './plot.ts';
import { tableLines } from './table.ts';

/** A whole run. */
export interface Report {
  date: string;
  commit: string;
  /** Whether the working tree was clean, so that the commit is exactly the measured code. */
  isClean: boolean;
  node: string;
  processor: string;
  cores: number;
  load: { before: number[]; after: number[] };
  failed: string[];
  parts: Record<string, { figures: Figure[]; detail: unknown; seconds: number }>;
}

/** Writes a run as JSON, as tables and as plots, and returns the paths of the files. */
export function writeReport(folder: string, report: Report): string[] {
  const written: string[] = [];
  const write = (name: string, text: string): void => {
    const file = join(folder, name);
    writeFileSync(file, text);
    written.push(file);
  };
  write('report.json', `${JSON.stringify(report, null, 2)}\n`);
  const tables = Object.entries(report.parts).flatMap(([name, { figures, seconds }]) => [
    `## ${name} (${seconds} s)`,
    '',
    ...tableLines(figures.map(shown)),
    '',
  ]);
  write('report.md', [heading(report), '', ...tables].join('\n'));
  const streams = report.parts.streams?.detail as StreamsDetail | undefined;
  for (const load of streams?.loads ?? []) {
    const bars = load.rows.map(({ name, runsAdk, ratio }) => ({
      name,
      ...ratio,
      isStrong: /^Duologue/.test(name),
      isPale: !runsAdk,
    }));
    write(`cpu-${load.pace}.svg`, plotBars(`Server CPU for a delta, ${load.says} (base = 1)`, bars, 1));
    const delays = load.rows.map(({ name, runsAdk, age }) => ({
      name,
      median: age.p50,
      low: age.p50,
      high: age.p99,
      isStrong: /^Duologue/.test(name),
      isPale: !runsAdk,
    }));
    write(
      `age-${load.pace}.svg`,
      plotBars(`Age of a delta when it arrives, p50 to p99 in ms, ${load.says}`, delays),
    );
  }
  return written;
}

function heading({ date, commit, isClean, node, processor, cores, load }: Report): string {
  const state = isClean ? '' : ' with changes';
  const loads = [load.before, load.after].map(([minute = 0]) => minute.toFixed(1)).join(' to ');
  return `${date}, ${commit.slice(0, 8)}${state}, Node ${node}, ${cores} cores (${processor}), load ${loads}`;
}

function shown(figure: Figure): Record<string, string> {
  const { name, ratio, noise, goal } = figure;
  return {
    figure: name,
    ratio: ratio.median.toFixed(2),
    range: `${ratio.low.toFixed(2)}–${ratio.high.toFixed(2)}`,
    'A/A': noise?.toFixed(2) ?? '',
    goal: goalText(goal),
    verdict: verdict(figure),
  };
}
