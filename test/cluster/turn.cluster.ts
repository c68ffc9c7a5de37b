import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import type { DuologueOptions } from '../../src/server/index.ts';
import { openRedisHub } from '../../src/server/redis/index.ts';
import { answerBody, approve } from '../server/support/answers.ts';
import { ManualClock } from '../support/clock.ts';
import { type Harness, harness, say } from '../support/harness.ts';
import { call, text } from '../support/scripted-model.ts';
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
      if (name === 'nodes') return counted(value as object);
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

const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  parameters: z.object({}),
  needsApproval: true,
  execute: async () => ({ paid: 50 }),
});

/** How often the database was asked since the last look, other than to renew the lease. */
function asked(): number {
  const { renew: _renew, living: _living, ...rest } = calls;
  for (const name of Object.keys(calls)) delete calls[name];
  return Object.values(rest).reduce((sum, count) => sum + count, 0);
}

beforeAll(async () => {
  const options: Partial<DuologueOptions> = {
    store: counted(await schema.open()),
    hub: await openRedisHub({ url: inject('redis'), prefix: schema.name }),
    node: { address: 'http://127.0.0.1:1', leaseMs: 600_000 },
    newId: randomUUID,
    clock,
  };
  server = harness(
    [[text('Hello.')], tenSeconds, [text('New.')], [call('pay', {}, 'pay-1')], [text('Paid.')]],
    [pay],
    options,
  );
});
afterAll(() => server.duologue.close());

test('a turn of ten seconds in words asks the database six times', async () => {
  await server.post(say('hi'));
  asked();
  const { chunks } = await server.post(say('count'));
  expect(chunks.at(-1)?.type).toBe('finish');
  expect(calls).toEqual({ putMessage: 3, appendEvent: 2, sharedState: 1 });
});

test('the first turn of a new conversation asks it 14 times at most, a payment 20 times', async () => {
  asked();
  expect((await server.post({ ...say('hi', 'new'), requestId: 'r1' })).chunks.at(-1)?.type).toBe('finish');
  expect(asked()).toBeLessThanOrEqual(14);
  const card = await server.post({ ...say('pay', 'new', 'pay'), requestId: 'r2' });
  const paid = await server.post({ ...answerBody(card, [approve()], 'new'), requestId: 'r3' });
  expect(paid.chunks).toContainEqual(expect.objectContaining({ output: { paid: 50 } }));
  expect(asked()).toBeLessThanOrEqual(20);
});
