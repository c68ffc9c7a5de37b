import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { DuologueOptions } from '../../src/server/index.ts';
import { openRedisHub } from '../../src/server/redis/index.ts';
import { ManualClock } from '../support/clock.ts';
import { type Harness, harness, say } from '../support/harness.ts';
import { text } from '../support/scripted-model.ts';
import { testSchema } from './support/schema.ts';

const schema = testSchema();
const clock = new ManualClock();
const calls: Record<string, number> = {};
let server: Harness;

/** The same object, and what of it is called. */
function counted<T extends object>(counts: T): T {
  return new Proxy(counts, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        calls[String(name)] = (calls[String(name)] ?? 0) + 1;
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
}

/** Two hundred words, fifty milliseconds apart. */
async function* tenSeconds() {
  const words = Array.from({ length: 200 }, (_, index) => `${index} `);
  for (const word of words) {
    yield { ...text(word), partial: true };
    clock.advance(50);
    await new Promise((resolve) => setImmediate(resolve));
  }
  yield text(words.join(''));
}

beforeAll(async () => {
  const options: Partial<DuologueOptions> = {
    store: counted(await schema.open()),
    hub: await openRedisHub({ url: inject('redis'), prefix: schema.name }),
    node: { address: 'http://127.0.0.1:1', leaseMs: 600_000 },
    newId: randomUUID,
    clock,
  };
  server = harness([[text('Hello.')], tenSeconds], [], options);
});
afterAll(() => server.duologue.close());

test('a turn of ten seconds in words asks the database six times', async () => {
  await server.post(say('hi'));
  for (const name of Object.keys(calls)) delete calls[name];
  const { chunks } = await server.post(say('count'));
  expect(chunks.at(-1)?.type).toBe('finish');
  expect(calls).toEqual({ putMessage: 3, appendEvent: 2, sharedState: 1 });
});
