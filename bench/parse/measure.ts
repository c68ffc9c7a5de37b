import { createAccumulator, parse } from '../../src/parse/index.ts';
import { longStream, SUBJECTS, type Subject } from './bodies.ts';
import { peerFor } from './peers.ts';

const ROUNDS = 25;
const ROUND_MS = 30;

/** CPU time in µs, which a busy machine disturbs less than the clock. */
function cpu(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** µs per item of each work, in rounds; every round does each work, so that a slow moment of the machine hits all. */
function inRounds(items: number, ...works: (() => void)[]): number[][] {
  return Array.from({ length: ROUNDS }, () =>
    works.map((work) => {
      const until = performance.now() + ROUND_MS;
      const start = cpu();
      let runs = 0;
      while (performance.now() < until) {
        for (let k = 0; k < 50; k++) work();
        runs += 50;
      }
      return (cpu() - start) / (runs * items);
    }),
  );
}

/** The best round of one work. */
function best(rounds: number[][], work: number): number {
  return Math.min(...rounds.map((round) => round[work] ?? 0));
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1] ?? 0;
}

function measureParse(bodies: readonly string[]) {
  const objects = bodies.map((body) => JSON.parse(body));
  const args = objects.flatMap((object) =>
    parse(object).toolUses.flatMap((use) => (use.inputRaw === undefined ? [] : [use.inputRaw])),
  );
  const rounds = inRounds(
    bodies.length,
    () => {
      for (const body of bodies) JSON.parse(body);
    },
    () => {
      for (const object of objects) parse(object);
    },
    () => {
      for (const arg of args) JSON.parse(arg);
    },
    () => {
      for (const body of bodies) parse(body);
    },
  );
  return {
    bytes: median(bodies.map((body) => body.length)),
    json: best(rounds, 0),
    parse: best(rounds, 1) - best(rounds, 2),
    ratio: median(rounds.map(([json = 0, whole = 0, strings = 0]) => (whole - strings) / json)),
    text: best(rounds, 3),
  };
}

async function measurePeer(subject: Subject): Promise<number> {
  const read = peerFor(subject.peer);
  let fastest = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round++) {
    const until = performance.now() + 200;
    const start = cpu();
    let runs = 0;
    while (performance.now() < until) {
      for (const body of subject.bodies) await read(body);
      runs += subject.bodies.length;
    }
    fastest = Math.min(fastest, (cpu() - start) / runs);
  }
  return fastest;
}

function foldOnce(events: readonly unknown[]): void {
  const accumulator = createAccumulator();
  for (const event of events) accumulator.push(event);
  accumulator.end();
}

function measureStream(subject: Subject) {
  const events = longStream(subject, 60);
  const lines = events.map((event) => JSON.stringify(event));
  const rounds = inRounds(
    events.length,
    () => {
      for (const line of lines) JSON.parse(line);
    },
    () => foldOnce(events),
  );
  const flat = [100, 1000, 10_000, 100_000].map((length) => {
    const long = longStream(subject, length);
    let fastest = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 8; round++) {
      const start = cpu();
      const repeat = Math.ceil(20_000 / length);
      for (let k = 0; k < repeat; k++) foldOnce(long);
      fastest = Math.min(fastest, (cpu() - start) / (repeat * length));
    }
    return fastest;
  });
  const ratio = median(rounds.map(([json = 0, fold = 0]) => fold / json));
  return { json: best(rounds, 0), fold: best(rounds, 1), ratio, flat };
}

const [what = '', name = ''] = process.argv.slice(2);
const subject = SUBJECTS.find((candidate) => candidate.name === name);
if (what === 'together') {
  // Parses the bodies of all APIs first, so that V8 has optimised the parser for all of them, then measures each.
  measureParse(SUBJECTS.flatMap(({ bodies }) => bodies));
  process.send?.(SUBJECTS.map(({ bodies }) => measureParse(bodies).ratio));
} else if (subject !== undefined) {
  const found =
    what === 'peer'
      ? await measurePeer(subject)
      : what === 'stream'
        ? measureStream(subject)
        : measureParse(subject.bodies);
  process.send?.(found);
}
process.disconnect?.();
