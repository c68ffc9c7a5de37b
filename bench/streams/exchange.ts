import { setTimeout as sleep } from 'node:timers/promises';
import { gather } from './client.ts';
import type { Load } from './load.ts';
import type { Served } from './served.ts';

/** The measurements of one exchange with one server. Times are in milliseconds. */
export interface Sample {
  /** CPU of the server for one delta, everything included. */
  cpuUs: number;
  rssMiB: number;
  /** Time from the question to the first delta, for each stream. */
  first: number[];
  /** Time from the model to the client, for each delta. */
  ages: Float64Array;
  /** Time from the first question to the end of the last answer. */
  wall: number;
}

/** Wait after the last answer, so that the CPU time includes what the server stores after the end of a turn. */
const REST_MS = 40;

/** All clients send their questions at once. When all answers are complete, the server reports its CPU time and memory. */
export async function exchange(
  served: Served,
  load: Load,
  run: string,
  profile: string | null = null,
): Promise<Sample> {
  const people = await gather(served.variant.wire, served.port, load, run);
  try {
    await served.begin(load, profile !== null);
    const began = performance.now();
    await Promise.all(people.map((person) => person.ask()));
    const wall = performance.now() - began;
    await sleep(REST_MS);
    const { cpuUs, rssMiB, emitted } = await served.end(profile);
    const ages = new Float64Array(load.streams * load.deltas);
    const first: number[] = [];
    for (const [stream, { listener }] of people.entries()) {
      listener.check();
      first.push((listener.received[0] ?? Number.NaN) - listener.askedAt);
      for (let n = 0; n < load.deltas; n++) {
        ages[stream * load.deltas + n] =
          (listener.received[n] ?? Number.NaN) - (emitted[stream]?.[n] ?? Number.NaN);
      }
    }
    return { cpuUs: cpuUs / (load.streams * load.deltas), rssMiB, first, ages, wall };
  } finally {
    await Promise.all(people.map((person) => person.leave?.()));
  }
}
