/** Measures the response parser against JSON.parse and the AI SDK's providers; see README.md. */
import { fork } from 'node:child_process';
import { type Figure, submit } from '../report/figure.ts';
import { SUBJECTS } from './bodies.ts';

interface Parsed {
  bytes: number;
  json: number;
  parse: number;
  ratio: number;
  text: number;
}
interface Streamed {
  json: number;
  fold: number;
  ratio: number;
  flat: number[];
}

/** Runs each measurement in its own process. */
function measured<T>(...args: string[]): Promise<T> {
  return new Promise((resolve, reject) => {
    const child = fork(new URL('./measure.ts', import.meta.url), args, { execArgv: ['--import', 'tsx'] });
    let found: T | undefined;
    child.on('message', (message) => {
      found = message as T;
    });
    child.on('exit', (code) =>
      found === undefined ? reject(new Error(`${args} failed (${code})`)) : resolve(found),
    );
  });
}

const us = (value: number) => value.toFixed(2).padStart(10);
const cell = (text: string) => text.padStart(10);
const parsed: Record<string, Parsed & { peer: number }> = {};
const streamed: Record<string, Streamed> = {};

for (const { name } of SUBJECTS) {
  const own = await measured<Parsed>('parse', name);
  parsed[name] = { ...own, peer: await measured<number>('peer', name) };
  streamed[name] = await measured<Streamed>('stream', name);
  console.log(`${name} done`);
}
const together = await measured<number[]>('together');

console.log(
  `${'whole, µs a body'.padEnd(20)}${['bytes', 'JSON.parse', 'parse', 'ratio', 'together', 'AI SDK', 'faster'].map(cell).join('')}`,
);
for (const [i, [name, row]] of Object.entries(parsed).entries()) {
  const faster = `${(row.peer / row.text).toFixed(0)} x`;
  console.log(
    `${name.padEnd(20)}${cell(String(row.bytes))}${us(row.json)}${us(row.parse)}${us(row.ratio)}${us(together[i] ?? 0)}${us(row.peer)}${cell(faster)}`,
  );
}
console.log(
  `\n${'streams, µs an event'.padEnd(20)}${['JSON.parse', 'fold', 'ratio', 'at 100', 'at 1k', 'at 10k', 'at 100k'].map(cell).join('')}`,
);
for (const [name, row] of Object.entries(streamed)) {
  console.log(`${name.padEnd(20)}${us(row.json)}${us(row.fold)}${us(row.ratio)}${row.flat.map(us).join('')}`);
}

const exactly = (value: number): Figure['ratio'] => ({ median: value, low: value, high: value });
submit(
  [
    ...Object.entries(parsed).flatMap(([name, row]): Figure[] => [
      { name: `${name}: parse / JSON.parse`, ratio: exactly(row.ratio), goal: { atMost: 0.25 } },
      {
        name: `${name}: AI SDK / parse, from text`,
        ratio: exactly(row.peer / row.text),
        goal: { atLeast: 10 },
      },
    ]),
    ...Object.entries(streamed).map(
      ([name, row]): Figure => ({
        name: `${name}: folding a stream / JSON.parse of its events`,
        ratio: exactly(row.ratio),
        goal: { atMost: 0.5 },
      }),
    ),
  ],
  { parsed, together, streamed },
);
