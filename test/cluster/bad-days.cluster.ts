import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterEach, describe, expect, inject, test } from 'vitest';
import { freePort } from '../../scripts/cluster/free-port.ts';
import { startPostgres } from '../../scripts/cluster/postgres-server.ts';
import { startRedis } from '../../scripts/cluster/redis-server.ts';
import { openPostgresStore } from '../../src/server/postgres/index.ts';
import { migrate, migrations } from '../../src/server/postgres/schema.ts';
import { keyOf, messageOf } from '../../src/testing/store/setup.ts';
import { answerBody, approve } from '../server/support/answers.ts';
import { say } from '../support/harness.ts';
import { startDemo } from './support/demo.ts';
import { ask, counted, deltas, Group, messagesOf, post, textOf, wordsOf } from './support/group.ts';
import { testSchema } from './support/schema.ts';

const schema = testSchema();
const opened: { close(): Promise<unknown> }[] = [];

afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

function later<T extends { close(): Promise<unknown> }>(one: T): T {
  opened.push(one);
  return one;
}

/** Asks a database as its administrator. */
async function sql(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const result = await client.query<Record<string, unknown>>(text);
    return result.rows;
  } finally {
    await client.end();
  }
}

describe('a start that cannot be says why in one sentence, and ends', () => {
  test('nobody listens at the address', async () => {
    const port = await freePort();
    expect(await startDemo({ DATABASE_URL: `postgres://ann:secret@127.0.0.1:${port}/chats` })).toEqual({
      code: 1,
      lines: [
        `Duologue cannot start: No PostgreSQL answers at 127.0.0.1:${port}/chats: check the address (DATABASE_URL), and that it runs.`,
      ],
    });
  });

  test('there is no such host', async () => {
    const { code, lines } = await startDemo({ DATABASE_URL: 'postgres://ann:secret@nowhere.invalid/chats' });
    expect([code, lines]).toEqual([
      1,
      [
        'Duologue cannot start: No PostgreSQL answers at nowhere.invalid/chats: check the address (DATABASE_URL), and that it runs.',
      ],
    ]);
  });

  test('it is no address', async () => {
    const { code, lines } = await startDemo({ DATABASE_URL: 'the one in the cellar' });
    expect([code, lines]).toEqual([
      1,
      [
        'Duologue cannot start: DATABASE_URL is not an address such as postgres://user:password@host/database.',
      ],
    ]);
  });

  test('the schema is of a newer version', async () => {
    const database = `newer_${randomUUID().replaceAll('-', '')}`;
    await schema.sql(`create database ${database}`);
    const url = schema.url.replace(/\/[^/]*$/, `/${database}`);
    await sql(
      url,
      'create schema duologue; create table duologue.version (number integer); insert into duologue.version values (99)',
    );
    const { code, lines } = await startDemo({ DATABASE_URL: url });
    expect([code, lines.length]).toEqual([1, 1]);
    expect(lines[0]).toMatch(/^Duologue cannot start: The schema duologue was written by a newer Duologue/);
    await schema.sql(`drop database ${database}`);
  });
});

describe.runIf(inject('canStartEngines'))('a Redis that cannot be used', () => {
  test('is told of in one sentence, without the password', async () => {
    const evicting = later(await startRedis(['maxmemory-policy allkeys-lru']));
    const locked = later(await startRedis(['requirepass open-sesame']));
    const old = later(await startRedis(['rename-command XADD ""']));
    const nowhere = `redis://127.0.0.1:${await freePort()}`;
    const place = (url: string) => new URL(url).host;
    const began = await Promise.all(
      [nowhere, locked.url.replace('//', '//:sesame@'), evicting.url, old.url].map((url) =>
        startDemo({ DATABASE_URL: schema.url, REDIS_URL: url }),
      ),
    );
    expect(began).toEqual(
      [
        `No Redis answers at ${place(nowhere)}: check the address (REDIS_URL), and that it runs.`,
        `Redis at ${place(locked.url)} refuses the login: check the name and the password (REDIS_URL).`,
        `Redis at ${place(evicting.url)} evicts keys when its memory is full (maxmemory-policy allkeys-lru): set it to noeviction.`,
        `Redis at ${place(old.url)} is too old, or has no streams: version 6.2 or newer, or Valkey, is needed.`,
      ].map((sentence) => ({ code: 1, lines: [`Duologue cannot start: ${sentence}`] })),
    );
  });
});

describe('a database that takes no writes of this user', () => {
  test.each([
    [
      'it may only read',
      (role: string) => `grant select on all tables in schema ${schema.name} to ${role}`,
      /lacks permissions/,
    ],
    [
      'it only reads',
      (role: string) => `alter role ${role} set default_transaction_read_only = on`,
      /is read-only/,
    ],
  ])('because %s: the store does not open, and says what to do', async (_why, settle, words) => {
    await schema.open().then((store) => store.close());
    const role = `r_${randomUUID().replaceAll('-', '')}`;
    await schema.sql(`create role ${role} login`);
    await schema.sql(`grant usage on schema ${schema.name} to ${role}`);
    await schema.sql(settle(role));
    const url = schema.url.replace('postgres@', `${role}@`);
    await expect(openPostgresStore({ url, schema: schema.name, retryForMs: 500 })).rejects.toThrow(words);
    await schema.sql(`drop owned by ${role}; drop role ${role}`);
  });

  test('a schema that an administrator made for the user needs no right to create one', async () => {
    const role = `r_${randomUUID().replaceAll('-', '')}`;
    await schema.sql(`create role ${role} login; create schema ${role} authorization ${role}`);
    const url = schema.url.replace('postgres@', `${role}@`);
    const store = await openPostgresStore({ url, schema: role });
    await store.close();
    expect(await schema.sql(`select count(*)::int as left_over from ${role}.sessions`)).toEqual([
      { left_over: 0 },
    ]);
    await schema.sql(`drop owned by ${role}; drop role ${role}`);
  });
});

describe('a schema of an older version', () => {
  test.each(Array.from(migrations.keys()))(
    'of %s steps is brought up to date at the start',
    async (steps) => {
      const name = `${schema.name.slice(0, 40)}_old${steps}`;
      const client = new pg.Client({ connectionString: schema.url });
      await client.connect();
      if (steps > 0) await migrate(client, name, migrations.slice(0, steps));
      await client.end();
      const store = later(await schema.open(undefined, name));
      await store.createSession(keyOf('s1'), {});
      expect(await schema.sql(`select number from ${name}.version`)).toEqual([{ number: migrations.length }]);
      await schema.sql(`drop schema ${name} cascade`);
    },
  );
});

describe.runIf(inject('canStartEngines'))('a database that lets in with a password', () => {
  test('the right one is taken; a wrong one is told of in a sentence without it', async () => {
    const postgres = later(await startPostgres({ password: 'open-sesame' }));
    const wrong = postgres.url.replace('open-sesame', 'sesame');
    const { code, lines } = await startDemo({ DATABASE_URL: wrong });
    expect([code, lines.length]).toEqual([1, 1]);
    expect(lines[0]).toMatch(
      /^Duologue cannot start: PostgreSQL at .* refuses the login: check the name and the password \(DATABASE_URL\)\.$/,
    );
    expect(lines[0]).not.toContain('sesame');
    const started = await startDemo({ DATABASE_URL: postgres.url });
    expect(started.lines[0]).toMatch(/^Duologue listens on /);
  });
});

describe.runIf(inject('canStartEngines'))('a database that takes nothing any more', () => {
  test('because its disk is full: what is stored can be read, what is new is refused in words, and taken when there is room', async () => {
    // Half a page more than whole pages: the last one is written in part, which is how a full disk looks.
    const postgres = later(await startPostgres({ fileLimit: 4100 }));
    const store = later(await openPostgresStore({ url: postgres.url }));
    const key = keyOf('s1');
    await store.createSession(key, {});
    const owner = (await store.own(key)) ?? key;
    const noise = () => Array.from({ length: 20_000 }, () => randomUUID()).join('');
    let written = 0;
    let refusal = '';
    while (refusal === '' && written < 40) {
      const id = `m${written}`;
      refusal = await store.putMessage(owner, messageOf(id, noise())).then(() => '', String);
      if (refusal === '') written++;
    }
    expect(refusal).toMatch(/The disk of PostgreSQL at .* is full, so nothing can be written: make room\.$/);
    expect((await store.loadMessages(key)).map(({ id }) => id)).toEqual(
      Array.from({ length: written }, (_, n) => `m${n}`),
    );
    await sql(postgres.url, 'truncate duologue.files, duologue.messages');
    await store.putMessage(owner, messageOf('after', 'There is room again.'));
    expect((await store.loadMessages(key)).map(({ id }) => id)).toEqual(['after']);
  });

  const ended = "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'node'";
  test.each([
    [
      'it only reads',
      `alter role node set default_transaction_read_only = on; ${ended}`,
      `alter role node reset default_transaction_read_only; ${ended}`,
    ],
    [
      'the right to write was taken away',
      'alter table chats.messages owner to postgres; grant select on chats.messages to node',
      'alter table chats.messages owner to node',
    ],
  ])(
    'because %s: a message is refused, what was said before can be read, and it is taken when that is over',
    async (_why, stop, go) => {
      const postgres = later(await startPostgres());
      await sql(postgres.url, 'create role node login');
      await sql(postgres.url, 'create database chats owner node');
      const admin = postgres.url.replace(/\/postgres$/, '/chats');
      const url = admin.replace('postgres@', 'node@');
      await openPostgresStore({ url, schema: 'chats' }).then((store) => store.close());
      // Longer than a write is tried again: while the lease holds, what is stored can be read.
      const group = later(new Group({ database: url, schema: 'chats', leaseMs: 120_000 }, 2));
      await group.open();
      const id = `s-${randomUUID()}`;
      expect(deltas(await post(group.one(0).url, say('count 3', id)))).toBe(counted(3));
      const before = await messagesOf(group.url, id);
      await sql(admin, stop);
      const texts = { ...say('count 4', id, 'second'), requestId: randomUUID() };
      const refused = await post(group.url, texts);
      expect([refused.status, refused.json]).toEqual([
        500,
        { error: expect.objectContaining({ code: 'internal' }) },
      ]);
      expect(await messagesOf(group.url, id)).toEqual(before);
      await sql(admin, go);
      // The very same post, as a client repeats it after a retryable error.
      expect(deltas(await post(group.url, texts))).toBe(counted(4));
      const { messages } = await messagesOf(group.url, id);
      expect(messages.map(textOf)).toEqual(['count 3', counted(3), 'count 4', counted(4)]);
    },
  );
});

describe('a node that is slow', () => {
  test('but not dead keeps its conversations: nobody takes them, nothing is lost', async () => {
    const group = later(new Group({ database: schema.url, schema: schema.name, leaseMs: 20_000 }, 2));
    await schema.open().then((store) => store.close());
    await group.open();
    const owner = group.one(0);
    const id = `s-${randomUUID()}`;
    const asked = await post(owner.url, say('pay', `card-${id}`));
    const socket = await group.connect(group.one(1).url, id);
    await post(owner.url, say('count 1', `warm-${id}`));
    socket.say('count 100');
    for (const words of [1, 20, 40, 60]) {
      await socket.until(() => wordsOf(socket).startsWith(counted(words)), `${words} words`);
      owner.process.kill('SIGSTOP');
      const answering = ask(group.one(1).url, `/sessions/card-${id}`);
      await new Promise((resolve) => setTimeout(resolve, 300));
      owner.process.kill('SIGCONT');
      expect((await answering).status).toBe(200);
    }
    await socket.done();
    expect(wordsOf(socket)).toBe(counted(100));
    expect(deltas(await post(group.one(1).url, answerBody(asked, [approve()], `card-${id}`)))).toMatch(
      /^Result: /,
    );
    expect(group.paid).toBe(1);
    for (const node of group.nodes) expect(node.complaints).not.toMatch(/another node died/);
  });
});
