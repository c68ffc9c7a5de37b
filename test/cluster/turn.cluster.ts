import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import type { DuologueOptions } from '../../src/server/index.ts';
import { Database } from '../../src/server/postgres/database.ts';
import { openRedisHub } from '../../src/server/redis/index.ts';
import { RedisConnection } from '../../src/server/redis/redis-connection.ts';
import { APPEND } from '../../src/server/redis/scripts.ts';
import { answerBody, approve } from '../server/support/answers.ts';
import { ManualClock } from '../support/clock.ts';
import { type Harness, harness, say } from '../support/harness.ts';
import { call, type ScriptedTurn, text } from '../support/scripted-model.ts';
import { testSchema } from './support/schema.ts';

const schema = testSchema();
const clock = new ManualClock();
let server: Harness;

const statements = vi.spyOn(Database.prototype, 'query');
const scripts = vi.spyOn(RedisConnection.prototype, 'call');

/** Words that come one after the other, `ms` milliseconds apart. */
const spoken = (count: number, ms: number) =>
  async function* () {
    const words = Array.from({ length: count }, (_, index) => `${index} `);
    for (const word of words) {
      yield { ...text(word), partial: true };
      clock.advance(ms);
      await new Promise((resolve) => setImmediate(resolve));
    }
    yield text(words.join(''));
  };

const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  parameters: z.object({}),
  needsApproval: true,
  execute: async () => ({ paid: 50 }),
});

/** How often each statement was sent to the database since the last look, other than those that renew the lease. */
function sent(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const [named] of statements.mock.calls) {
    const name = named.replace('duologue ', '');
    if (name !== 'renew_node' && name !== 'living') counts[name] = (counts[name] ?? 0) + 1;
  }
  statements.mockClear();
  return counts;
}

const turns: ScriptedTurn[] = [
  [text('Hello.')],
  spoken(200, 50),
  spoken(60, 20),
  [text('New.')],
  [call('pay', {}, 'pay-1')],
  [text('Paid.')],
];

beforeAll(async () => {
  const options: Partial<DuologueOptions> = {
    store: await schema.open(),
    hub: await openRedisHub({ url: inject('redis'), prefix: schema.name }),
    node: { address: 'http://127.0.0.1:1', leaseMs: 600_000 },
    newId: randomUUID,
    clock,
  };
  server = harness(turns, [pay], options);
});
afterAll(() => server.duologue.close());

test('a turn of ten seconds in words sends five statements', async () => {
  await server.post(say('hi'));
  sent();
  const { chunks } = await server.post(say('count'));
  expect(chunks.at(-1)?.type).toBe('finish');
  expect(sent()).toEqual({ put_message: 2, append_event: 2, shared: 1 });
});

test('an answer of 60 words, 20 ms apart, is kept in Redis with at most 24 calls', async () => {
  scripts.mockClear();
  await server.post(say('count'));
  const added = scripts.mock.calls.filter(([script]) => script === APPEND).length;
  expect(added).toBeGreaterThan(1);
  expect(added).toBeLessThanOrEqual(24);
});

test('the first turn of a new conversation sends 8 statements, a payment 18', async () => {
  sent();
  expect((await server.post({ ...say('hi', 'new'), requestId: 'r1' })).chunks.at(-1)?.type).toBe('finish');
  expect(sent()).toEqual({
    ...{ acquire: 1, create_owned: 1, rename: 1 },
    ...{ put_message: 2, append_event: 2, shared: 1 },
  });
  const card = await server.post({ ...say('pay', 'new', 'pay'), requestId: 'r2' });
  const paid = await server.post({ ...answerBody(card, [approve()], 'new'), requestId: 'r3' });
  expect(paid.chunks).toContainEqual(expect.objectContaining({ output: { paid: 50 } }));
  expect(sent()).toEqual({
    ...{ put_message: 6, append_event: 4, shared: 3 },
    ...{ issue_calls: 1, callByApproval: 1, move_call: 2, fences: 1 },
  });
});
