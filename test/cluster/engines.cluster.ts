import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { type PostgresServer, startPostgres } from '../../scripts/cluster/postgres-server.ts';
import { type RedisServer, startRedis } from '../../scripts/cluster/redis-server.ts';
import { openPostgresStore } from '../../src/server/postgres/index.ts';
import { answerBody, approve } from '../server/support/answers.ts';
import { say } from '../support/harness.ts';
import { decision } from '../support/live.ts';
import { auditOf, counted, deltas, Group, messagesOf, post, textOf, wordsOf } from './support/group.ts';

const schema = 'engines';

describe.runIf(inject('canStartEngines'))('engines that restart under three nodes', () => {
  let postgres: PostgresServer;
  let redis: RedisServer;
  let group: Group;

  beforeAll(async () => {
    postgres = await startPostgres();
    redis = await startRedis();
    await openPostgresStore({ url: postgres.url, schema }).then((store) => store.close());
    // Longer than a restart takes on a busy machine, so that no node is taken for dead.
    group = new Group({ database: postgres.url, redis: redis.url, schema, leaseMs: 20_000 });
    await group.open();
  });
  afterEach(() => group.refill());
  afterAll(async () => {
    await group.close();
    await postgres.close();
    await redis.close();
  });

  test.each(['fast', 'immediate'] as const)(
    'PostgreSQL, %s: an answer goes on, and what is approved meanwhile waits and is paid once',
    async (mode) => {
      const [talking, paying] = [`s-${randomUUID()}`, `s-${randomUUID()}`];
      const asked = await post(group.one(0).url, say('pay', paying));
      const socket = await group.connect(group.one(1).url, talking);
      const before = group.paid;
      socket.say('count 150');
      await socket.until(() => wordsOf(socket).startsWith(counted(20)), 'twenty words');
      await postgres.stop(mode);
      const answering = post(group.one(2).url, answerBody(asked, [approve()], paying));
      await socket.until(() => wordsOf(socket).startsWith(counted(60)), 'words without a database');
      await postgres.start();
      expect(deltas(await answering)).toMatch(/^Result: {"paid":50/);
      await socket.done();
      expect(wordsOf(socket)).toBe(counted(150));
      expect(group.paid - before).toBe(1);
      expect(await auditOf(group.url, paying)).toEqual(['issued', 'approved', 'consumed']);
      expect(deltas(await post(group.url, say('count 3', talking, 'more')))).toBe(counted(3));
    },
  );

  test('Redis, empty afterwards: an answer goes on where it was, and a card is answered and paid once', async () => {
    const [talking, paying] = [`s-${randomUUID()}`, `s-${randomUUID()}`];
    const asked = await post(group.one(0).url, say('pay', paying));
    const socket = await group.connect(group.one(1).url, talking);
    const before = group.paid;
    socket.say('count 150');
    await socket.until(() => wordsOf(socket).startsWith(counted(20)), 'twenty words');
    await redis.kill();
    const answering = post(group.one(2).url, answerBody(asked, [approve()], paying));
    await redis.start();
    expect(deltas(await answering)).toMatch(/^Result: {"paid":50/);
    await socket.done();
    expect(wordsOf(socket)).toBe(counted(150));
    expect(socket.received.some((one) => one.kind === 'chunk' && one.chunk.type === 'data-reset')).toBe(
      false,
    );
    expect(group.paid - before).toBe(1);
    expect(await auditOf(group.url, paying)).toEqual(['issued', 'approved', 'consumed']);
    expect(deltas(await post(group.url, say('count 3', talking, 'more')))).toBe(counted(3));
  });

  test('Redis, away while a card is answered on another node: paid once, and everything is there when it is back', async () => {
    const [posted, spoken] = [`s-${randomUUID()}`, `s-${randomUUID()}`];
    const asked = await post(group.one(0).url, say('pay', posted));
    await post(group.one(0).url, say('count 1', spoken));
    const socket = await group.connect(group.one(1).url, spoken);
    socket.say('pay');
    const card = await socket.chunk('tool-approval-request');
    const before = group.paid;
    await redis.kill();
    const answer = { ...answerBody(asked, [approve()], posted), requestId: randomUUID() };
    // What it answers waits for Redis, in vain; what was decided does not.
    expect(await post(group.one(2).url, answer)).toMatchObject({
      status: 500,
      json: { error: { code: 'internal', retryable: true } },
    });
    // One after the other: both take from one wallet.
    await expect.poll(() => group.paid - before, { timeout: 30_000 }).toBe(1);
    socket.send('message', decision(card));
    await expect.poll(() => group.paid - before, { timeout: 30_000 }).toBe(2);
    await redis.start();
    // The very same post, as a client repeats it after a retryable error.
    expect(deltas(await post(group.one(2).url, answer))).toMatch(/^Result: {"paid":50/);
    await socket.done();
    expect(wordsOf(socket)).toMatch(/^Result: {"paid":50/);
    for (const id of [posted, spoken]) {
      expect(await auditOf(group.url, id)).toEqual(['issued', 'approved', 'consumed']);
      const { messages } = await messagesOf(group.url, id);
      expect(textOf(messages.at(-1))).toMatch(/^Result: {"paid":50/);
      expect(messages.at(-1)?.parts).toContainEqual(
        expect.objectContaining({ type: 'tool-pay', state: 'output-available' }),
      );
      expect(deltas(await post(group.url, say('count 3', id, 'more')))).toBe(counted(3));
    }
    expect(group.paid - before).toBe(2);
  });
  test('[E11] Redis, away for all nodes: a message is accepted, its client is told that the answer waits, and gets it when Redis is back', async () => {
    const id = `s-${randomUUID()}`;
    const socket = await group.connect(group.one(0).url, id);
    await redis.kill();
    socket.send('message', { ...say('count 5', id), requestId: 'r1' });
    await socket.chunk('data-accepted');
    const { data } = await socket.chunk('data-error');
    expect(data).toMatchObject({ code: 'internal', retryable: true });
    await redis.start();
    await socket.done();
    expect(wordsOf(socket)).toBe(counted(5));
  });
});
