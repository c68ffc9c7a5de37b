/**
 * Where the CPU of one server goes: the functions with the most time of their own, and the profiles for a browser's tools.
 *
 *   tsx streams/profile.ts <part of a name> [tick1|tick8|pace20]
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { printTable } from '../report/table.ts';
import { buildHere } from './builds.ts';
import { exchange } from './exchange.ts';
import type { Load, Pace } from './load.ts';
import { Served } from './served.ts';
import { FLOORS, ours, PEERS } from './variants.ts';

interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
}

const [name = 'SSE', pace = 'tick1'] = process.argv.slice(2);
const variant = [...ours(buildHere()), ...FLOORS, ...PEERS].find((one) => one.name.includes(name));
if (!variant) throw new Error(`There is no server ${name}.`);
const load: Load = { pace: pace as Pace, streams: 50, deltas: 570 };
const folder = fileURLToPath(new URL('../results/', import.meta.url));
mkdirSync(folder, { recursive: true });
const file = join(folder, `${variant.name.replace(/\W+/g, '-')}-${pace}.cpuprofile`);
const served = await Served.start(variant);
for (let warmUp = 0; warmUp < 3; warmUp++) await exchange(served, load, `warm-up-${warmUp}`);
await exchange(served, load, 'profile', file);
await served.stop();

const { nodes, samples, timeDeltas }: Profile = JSON.parse(readFileSync(file, 'utf8'));
const own = new Map<number, number>();
for (const [index, id] of samples.entries()) own.set(id, (own.get(id) ?? 0) + (timeDeltas[index] ?? 0));
const byFunction = new Map<string, number>();
const byPlace = new Map<string, number>();
let total = 0;
for (const { id, callFrame } of nodes) {
  const { functionName, url, lineNumber } = callFrame;
  const time = own.get(id) ?? 0;
  // Idle time is not work of the server, and `dispatch` belongs to the profiler.
  if (['(idle)', '(root)', 'dispatch'].includes(functionName)) continue;
  total += time;
  const where = url.replace(/^.*\/node_modules\//, '').replace(/^.*\/(?=src\/|dist\/|bench\/|here\/)/, '');
  const place = placeOf(url, functionName);
  byPlace.set(place, (byPlace.get(place) ?? 0) + time);
  const called = `${functionName || '(anonymous)'} ${where}${where ? `:${lineNumber + 1}` : ''}`;
  byFunction.set(called, (byFunction.get(called) ?? 0) + time);
}
console.log(`${(total / (load.streams * load.deltas)).toFixed(1)} µs a delta`);
show('where', byPlace, 12);
show('function', byFunction, 40);
console.log(`\nWritten: ${file}`);
process.exit(0);

function placeOf(url: string, functionName: string): string {
  if (functionName === '(garbage collector)') return 'garbage collection';
  const peer = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1];
  if (peer) return peer;
  if (/\/bench\/streams\//.test(url)) return 'the benchmark';
  if (url.startsWith('file:')) return 'duologue';
  return url.startsWith('node:') ? 'Node' : 'native code';
}

function show(head: string, times: Map<string, number>, most: number): void {
  const rows = [...times].sort((one, other) => other[1] - one[1]).slice(0, most);
  printTable(rows.map(([what, time]) => ({ [head]: what, share: `${((time / total) * 100).toFixed(1)} %` })));
}
