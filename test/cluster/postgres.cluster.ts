import pg from 'pg';
import { afterEach, describe, expect, inject, test } from 'vitest';
import { freePort } from '../../scripts/cluster/free-port.ts';
import { type PostgresServer, startPostgres } from '../../scripts/cluster/postgres-server.ts';
import { openWire } from '../../scripts/cluster/wire.ts';
import { Database } from '../../src/server/postgres/database.ts';
import { openPostgresStore } from '../../src/server/postgres/index.ts';
import { migrate, migrations } from '../../src/server/postgres/schema.ts';
import {
  type OwnedKey,
  type SharedStore,
  StaleFence,
  type Store,
  StoreError,
} from '../../src/server/store/store.ts';
import {
  answerEvent,
  auditLines,
  callOf,
  keyOf,
  lineOf,
  messageOf,
  textEvent,
} from '../../src/testing/store/setup.ts';
import { testSchema } from './support/schema.ts';

const schema = testSchema();
const key = keyOf('s1');
const opened: { close(): Promise<unknown> }[] = [];

afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

function later<T extends { close(): Promise<unknown> }>(one: T): T {
  opened.push(one);
  return one;
}

async function openEmpty(): Promise<SharedStore> {
  await schema.open().then((store) => store.close());
  await schema.empty();
  return later(await schema.open(() => 1_000));
}

/** Every write of an owner, what it should return, and how to see that it was done once. */
const writes: [
  name: string,
  write: (store: SharedStore, owner: OwnedKey) => Promise<unknown>,
  returned: unknown,
][] = [
  ['createSession', (store) => store.createSession(keyOf('s2'), { a: 1 }), { id: 's2', state: { a: 1 } }],
  [
    'nodes.create',
    async (store) => {
      const created = await store.nodes.create(keyOf('s2'), 'a', [
        { subscription: 'all', id: 'e1', data: '{}' },
      ]);
      await store.putMessage(created.key, messageOf('m1', 'hi'));
      return created;
    },
    { key: { id: 's2' }, session: { id: 's2', state: {}, events: [], createdAt: 1000 } },
  ],
  ['own', async (store) => ((await store.own(keyOf('other')))?.fence ?? 0) > 0, true],
  [
    'appendEvent with a change of state',
    (store, owner) => store.appendEvent(owner, answerEvent('e1', ['c2'], { count: 2 }), { count: 1 }),
    undefined,
  ],
  ['putMessage', (store, owner) => store.putMessage(owner, messageOf('m2', 'new')), undefined],
  ['truncateMessages', (store, owner) => store.truncateMessages(owner, 'm1'), true],
  [
    'addWaiting',
    (store, owner) => store.addWaiting(owner, { message: messageOf('w2', 'hi'), answerId: null }),
    undefined,
  ],
  ['issueCalls', (store, owner) => store.issueCalls(owner, [callOf('c3'), callOf('c4')]), undefined],
  [
    'moveCall',
    (store, owner) =>
      store.moveCall(owner, { id: 'c2', from: 'approved', to: 'running' }, lineOf('consumed', 'c2')),
    { id: 'c2', status: 'running' },
  ],
  [
    'decideCall',
    (store) => store.decideCall(key, { id: 'c1', to: 'approved', reason: null }, lineOf('approved', 'c1')),
    { id: 'c1', status: 'approved' },
  ],
  ['audit', (store) => store.audit(key, lineOf('refused', 'c1')), undefined],
  [
    'acceptRequest',
    (store, owner) => store.acceptRequest(owner, { requestId: 'r1', messageId: null, parts: 0 }),
    undefined,
  ],
  [
    'putFile',
    (store, owner) => store.putFile(owner, 'f1', { mediaType: 'image/png', bytes: new Uint8Array([1]) }),
    undefined,
  ],
  ['renameSession', (store) => store.renameSession(key, 'Tea'), true],
  ['deleteSession', (store) => store.deleteSession(key), true],
];

/** A session with something of everything in it. */
async function furnish(store: Store): Promise<OwnedKey> {
  await store.createSession(key, { count: 1 });
  await store.createSession(keyOf('other'), {});
  const owner = await store.own(key);
  if (!owner) throw new Error('There is no session to own.');
  await store.putMessage(owner, messageOf('m1', 'hi'));
  await store.addWaiting(owner, { message: messageOf('w1', 'hi'), answerId: null });
  await store.issueCalls(owner, [callOf('c1'), callOf('c2', { status: 'approved' })]);
  return owner;
}

async function content(store: Store): Promise<unknown> {
  return {
    sessions: await store.listSessions('shop', 'ann'),
    session: await store.loadSession(key),
    messages: await store.loadMessages(key),
    waiting: await store.waitingMessages(key),
    calls: await store.openCalls(key),
    lines: await auditLines(store, key),
    requests: await store.acceptedRequests(key),
    file: await store.loadFile(key, 'f1'),
  };
}

describe('a write whose answer is lost', () => {
  test.each(writes)(
    '%s is sent again, done once, and returns what it would have',
    async (_, write, returned) => {
      const plain = await openEmpty();
      const expected = await furnish(plain).then(async (owner) => {
        await write(plain, owner);
        return content(plain);
      });
      await schema.empty();
      const owner = await furnish(plain);
      const wire = later(await openWire(Number(new URL(schema.url).port)));
      const url = schema.url.replace(/:\d+\//, `:${wire.port}/`);
      const store = later(await openPostgresStore({ url, schema: schema.name, now: () => 1_000 }));
      await store.findSession(key);
      wire.loseNextAnswer();
      const result = await write(store, owner);
      expect(wire.lost).toBe(1);
      if (typeof returned === 'object') expect(result).toMatchObject(returned as object);
      else expect(result).toBe(returned);
      expect(await content(plain)).toEqual(expected);
    },
  );
});

describe.runIf(inject('canStartEngines'))('a PostgreSQL that stops and starts again', () => {
  let server: PostgresServer | null = null;

  test('one that stops while someone has a connection, between two statements, ends nothing but that', async () => {
    server = await startPostgres();
    const db = later(await Database.open({ url: server.url }));
    const stopped = server;
    const work = db.connected(async (client) => {
      await client.query('select 1');
      const broken = new Promise((resolve) => client.once('end', resolve));
      await stopped.stop('immediate');
      await broken;
      await client.query('select 1');
    });
    await expect(work).rejects.toThrow(/not queryable|terminated|closed/);
  });

  afterEach(async () => {
    await server?.close();
    server = null;
  });

  test.each(['fast', 'immediate'] as const)(
    '%s: what is written meanwhile waits, and is there once',
    async (mode) => {
      server = await startPostgres();
      const store = later(await openPostgresStore({ url: server.url, retryForMs: 60_000 }));
      await store.createSession(key, {});
      const owner = (await store.own(key)) ?? key;
      let written = 0;
      let isOver = false;
      const writer = (async () => {
        for (; !isOver; written++)
          await store.appendEvent(owner, textEvent(`e${written}`, 'hi', { written }));
      })();
      await expect.poll(() => written).toBeGreaterThan(20);
      await server.stop(mode);
      const before = written;
      await server.start();
      await expect.poll(() => written).toBeGreaterThan(before + 20);
      isOver = true;
      await writer;
      const session = await store.loadSession(key);
      expect(session?.events.map(({ id }) => id)).toEqual(Array.from({ length: written }, (_, n) => `e${n}`));
      expect(session?.state).toEqual({ written: written - 1 });
    },
  );

  test('a database that stays away fails within the retry time, and the store continues when it is back', async () => {
    server = await startPostgres();
    const store = later(await openPostgresStore({ url: server.url, retryForMs: 300 }));
    await store.createSession(key, {});
    await server.stop('fast');
    await expect(store.putMessage(key, messageOf('m1', 'hi'))).rejects.toThrow(
      /^No PostgreSQL answers at 127\.0\.0\.1:\d+\/postgres: check the address \(DATABASE_URL\), and that it runs\.$/,
    );
    await server.start();
    await store.putMessage(key, messageOf('m1', 'hi'));
    expect(await store.loadMessages(key)).toEqual([messageOf('m1', 'hi')]);
  });

  test('one that only reads is told of; what is stored can be read, and written when it writes again', async () => {
    server = await startPostgres();
    const store = later(await openPostgresStore({ url: server.url }));
    await store.createSession(key, {});
    const admin = later(asClosable(new pg.Client({ connectionString: server.url })));
    await admin.connect();
    const setReadOnly = async (value: 'on' | 'off') => {
      await admin.query(`alter system set default_transaction_read_only = ${value}`);
      await admin.query('select pg_reload_conf()');
      await expect
        .poll(async () => (await admin.query('show default_transaction_read_only')).rows[0])
        .toEqual({ default_transaction_read_only: value });
    };
    await setReadOnly('on');
    await expect
      .poll(() => store.putMessage(key, messageOf('m1', 'hi')).then(String, String))
      .toMatch(/is read-only \(a standby\?\): give the address of the primary/);
    expect(await store.findSession(key)).toMatchObject({ id: 's1' });
    await expect(openPostgresStore({ url: server.url, schema: 'another' })).rejects.toThrow(/is read-only/);
    await admin.query('set default_transaction_read_only = off');
    await setReadOnly('off');
    await expect
      .poll(() => store.putMessage(key, messageOf('m1', 'hi')).then(() => 'written', String))
      .toBe('written');
  });
});

describe('the schema', () => {
  test('is made once when several nodes start at once on an empty database', async () => {
    const name = `${schema.name.slice(0, 40)}_fresh`;
    const stores = await Promise.all(Array.from({ length: 8 }, () => schema.open(undefined, name)));
    for (const store of stores) later(store);
    await stores[0]?.createSession(key, {});
    expect(await stores[7]?.findSession(key)).toMatchObject({ id: 's1' });
    expect(await schema.sql(`select number from ${name}.version`)).toEqual([{ number: migrations.length }]);
    await schema.sql(`drop schema ${name} cascade`);
  });

  test('a step that fails changes nothing, and is tried again', async () => {
    const name = `${schema.name.slice(0, 40)}_steps`;
    const client = later(asClosable(new pg.Client({ connectionString: schema.url })));
    await client.connect();
    const good = 'create table {schema}.one (n integer);';
    await expect(migrate(client, name, [good, 'create table {schema}.two (n nonsense);'])).rejects.toThrow(
      'nonsense',
    );
    expect(await schema.sql(`select to_regnamespace('${name}') as found`)).toEqual([{ found: null }]);
    await migrate(client, name, [good]);
    await migrate(client, name, [good, 'create table {schema}.two (n integer);']);
    expect(await schema.sql(`select number from ${name}.version`)).toEqual([{ number: 2 }]);
    await schema.sql(`drop schema ${name} cascade`);
  });

  test('one from a newer version is left alone', async () => {
    const name = `${schema.name.slice(0, 40)}_newer`;
    await schema.sql(
      `create schema ${name}; create table ${name}.version (number integer); insert into ${name}.version values (99)`,
    );
    await expect(schema.open(undefined, name)).rejects.toThrow(
      new StoreError(
        `The schema ${name} was written by a newer Duologue (version 99, this one knows ${migrations.length}): update Duologue, or choose another schema.`,
      ),
    );
    await schema.sql(`drop schema ${name} cascade`);
  });

  test('a name that is none is refused', async () => {
    await expect(schema.open(undefined, `x"; drop table y; --`)).rejects.toThrow(StoreError);
  });
});

describe('a database that cannot be used', () => {
  test('is told of in a sentence, without the password', async () => {
    const port = await freePort();
    const noUser = `postgres://ann:secret@127.0.0.1:${port}/chats`;
    await expect(openPostgresStore({ url: noUser })).rejects.toThrow(
      new StoreError(
        `No PostgreSQL answers at 127.0.0.1:${port}/chats: check the address (DATABASE_URL), and that it runs.`,
      ),
    );
    await expect(openPostgresStore({ url: schema.url.replace(/postgres$/, 'nowhere') })).rejects.toThrow(
      /has no such database: create it, or check its name \(DATABASE_URL\)\./,
    );
    await schema.sql('create role limited login');
    await expect(
      openPostgresStore({ url: schema.url.replace('postgres@', 'limited@'), schema: 'forbidden' }),
    ).rejects.toThrow(/lacks permissions/);
    await schema.sql('drop role limited');
    await schema.sql(`create database latin encoding 'LATIN1' locale 'C' template template0`);
    await expect(openPostgresStore({ url: schema.url.replace(/postgres$/, 'latin') })).rejects.toThrow(
      'The database has the encoding LATIN1: create one with the encoding UTF8.',
    );
    await schema.sql('drop database latin');
  });
});

describe('two stores on one schema', () => {
  test('a store writes no more of a session that the other took', async () => {
    const one = await openEmpty();
    const two = later(await schema.open(() => 1_000));
    await one.createSession(key, {});
    const first = (await one.own(key)) ?? key;
    await one.putMessage(first, messageOf('m1', 'mine'));
    const second = (await two.own(key)) ?? key;
    await expect(one.putMessage(first, messageOf('m2', 'too late'))).rejects.toThrow(StaleFence);
    await two.putMessage(second, messageOf('m3', 'mine now'));
    expect(await one.loadMessages(key)).toEqual([messageOf('m1', 'mine'), messageOf('m3', 'mine now')]);
  });

  test('times are those of the database, whatever the clock of a node says', async () => {
    await openEmpty();
    const store = later(await schema.open());
    const { createdAt } = await store.createSession(key, {});
    const [{ now } = { now: 0 }] = await schema.sql(
      'select (extract(epoch from clock_timestamp()) * 1000)::float8 as now',
    );
    expect(Math.abs(createdAt - Number(now))).toBeLessThan(60_000);
  });
});

function asClosable(client: pg.Client): pg.Client & { close(): Promise<void> } {
  // Its server may be gone before it is.
  return Object.assign(
    client.on('error', () => undefined),
    { close: () => client.end() },
  );
}
