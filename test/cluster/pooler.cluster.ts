import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, inject, test } from 'vitest';
import { pgBouncerVersion, startPgBouncer } from '../../scripts/cluster/pgbouncer-server.ts';
import { openPostgresStore } from '../../src/server/postgres/index.ts';
import { answerBody, approve } from '../server/support/answers.ts';
import { say } from '../support/harness.ts';
import { auditOf, counted, deltas, Group, messagesOf, post, textOf } from './support/group.ts';
import { testSchema } from './support/schema.ts';

const schema = testSchema();
const opened: { close(): Promise<unknown> }[] = [];

afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

/** The address of the database behind a PgBouncer with these settings. */
async function pooled(settings: readonly string[]): Promise<string> {
  const pooler = await startPgBouncer(inject('postgres'), settings);
  opened.push(pooler);
  return pooler.url;
}

describe.runIf(inject('canStartEngines'))('PostgreSQL behind PgBouncer', () => {
  const [major, minor] = inject('canStartEngines') ? pgBouncerVersion() : [0, 0];
  const knowsPrepared = major > 1 || minor >= 21;
  const NONE = knowsPrepared ? ['max_prepared_statements = 0'] : [];
  // What a PgBouncer can do that Debian has: transactions since 1.21, before that only sessions.
  const fitting = knowsPrepared
    ? ['pool_mode = transaction', 'max_prepared_statements = 200']
    : ['pool_mode = session'];

  test.each([
    ['one connection after the other', []],
    ['all connections in turn', ['server_round_robin = 1']],
    ['one connection for all', ['default_pool_size = 1']],
  ])('that loses prepared statements is refused at the start, in words (%s)', async (_how, settings) => {
    const url = await pooled(['pool_mode = transaction', ...NONE, ...settings]);
    await expect(openPostgresStore({ url, schema: schema.name })).rejects.toThrow(
      /is behind a pooler that loses prepared statements: set max_prepared_statements/,
    );
  });

  test(`that keeps them carries conversations, cards and take-overs (${fitting[0]})`, async () => {
    const database = await pooled([...fitting, 'default_pool_size = 30']);
    const group = new Group({ database, redis: inject('redis'), schema: schema.name, leaseMs: 2000 }, 2);
    opened.push(group);
    await openPostgresStore({ url: database, schema: schema.name }).then((store) => store.close());
    await group.open();
    const id = `s-${randomUUID()}`;
    expect(deltas(await post(group.one(0).url, say('count 5', id)))).toBe(counted(5));
    const asked = await post(group.one(1).url, say('pay', id, 'pay'));
    await group.end(group.one(0), 'SIGKILL');
    const paid = await post(group.url, { ...answerBody(asked, [approve()], id), requestId: randomUUID() });
    expect(deltas(paid)).toMatch(/^Result: {"paid":50/);
    expect(group.paid).toBe(1);
    expect(await auditOf(group.url, id)).toEqual(['issued', 'approved', 'consumed']);
    expect(textOf((await messagesOf(group.url, id)).messages.at(-1))).toMatch(/^Result: {"paid":50/);
  });
});
