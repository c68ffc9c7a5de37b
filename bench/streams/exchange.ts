import { setTimeout as sleep } from 'node:timers/promises';
import { gather } from './client.ts';
import type { Load } from './load.ts';
import type { Served } from './served.ts';

/** What one exchange with one server gave. Times in milliseconds. */
export interface Sample {
  /** CPU of the server for one delta, everything included. */
  cpuUs: number;
  rssMiB: number;
  /** From the question to the first delta, one for each stream. */
  first: number[];
  /** From the model to the reader, one for each delta. */
  ages: Float64Array;
  /** From the first question to the last end. */
  wall: number;
}

/** How long a server may go on with what nobody waits for: what it stores at the end belongs to the cost. */
const REST_MS = 40;

/** Everyone asks at once; when all have their answers, the server tells what that cost. */
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
