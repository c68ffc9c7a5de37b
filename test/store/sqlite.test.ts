import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Database, migrate, migrations, openDatabase } from '../../src/server/sqlite/database.ts';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';
import { fromText, toText } from '../../src/server/store/rules.ts';
import { StaleFence, type Store, StoreError } from '../../src/server/store/store.ts';
import {
  answerEvent,
  auditLines,
  callOf,
  keyOf,
  lineOf,
  messageOf,
  stored,
  textEvent,
} from '../../src/testing/store/setup.ts';
import { createFolder } from './support/stores.ts';

const key = keyOf('s1');
const writer = fileURLToPath(new URL('./support/writer.ts', import.meta.url));

let folder: string;
const open: { close(): unknown }[] = [];

beforeEach(() => {
  folder = createFolder();
});
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
  rmSync(folder, { recursive: true, force: true });
});

async function openStore(path = folder): Promise<Store> {
  const store = await openSqliteStore(path, { now: () => 1_000 });
  open.push(store);
  return store;
}

async function openFile(path = join(folder, 'duologue.db')): Promise<Database> {
  const db = await openDatabase(path);
  open.push(db);
  return db;
}

describe('a store in a folder', () => {
  test('is whole after it was closed and opened again', async () => {
    const first = await openStore();
    await first.createSession(key, { mood: 'calm', 'app:open': true, 'user:name': 'Ann' });
    await first.appendEvent(key, textEvent('e1', 'hi', { mood: 'glad' }));
    await first.putMessage(key, messageOf('m1', 'hi'));
    await first.issueCalls(key, [callOf('c1'), callOf('c2')]);
    await first.moveCall(key, { id: 'c1', from: 'requested', to: 'approved' }, lineOf('approved', 'c1'));
    await first.putFile(key, 'f1', { mediaType: 'image/png', bytes: new Uint8Array([1, 2]) });
    await first.renameSession(key, 'Tea');
    await first.close();

    const second = await openStore();
    expect(await second.loadSession(key)).toEqual({
      id: 's1',
      title: 'Tea',
      createdAt: 1_000,
      updatedAt: 1_000,
      state: { mood: 'glad', 'app:open': true, 'user:name': 'Ann' },
      events: stored([textEvent('e1', 'hi', { mood: 'glad' })]),
    });
    expect(await second.loadMessages(key)).toEqual([messageOf('m1', 'hi')]);
    expect(await second.openCalls(key)).toEqual([callOf('c1', { status: 'approved' }), callOf('c2')]);
    expect((await auditLines(second, key)).map((line) => line.kind)).toEqual([
      'issued',
      'issued',
      'approved',
    ]);
    expect(await second.loadFile(key, 'f1')).toEqual({
      mediaType: 'image/png',
      bytes: new Uint8Array([1, 2]),
    });
    expect(await second.moveCall(key, { id: 'c1', from: 'approved', to: 'running' }, null)).toMatchObject({
      status: 'running',
    });
    await second.appendEvent(key, textEvent('e2', 'after'));
    expect((await second.loadSession(key))?.events.map((event) => event.id)).toEqual(['e1', 'e2']);
  });

  test('makes the folder, closed to others, and leaves all it knows in one file', async () => {
    const inner = join(folder, 'not', 'yet');
    const store = await openStore(inner);
    await store.createSession(key, {});
    expect(statSync(inner).mode & 0o777).toBe(0o700);
    await store.close();
    for (const file of readdirSync(inner)) if (file !== 'duologue.db') rmSync(join(inner, file));
    expect(await (await openStore(inner)).loadSession(key)).not.toBeNull();
  });

  test('may be given as a file', async () => {
    const file = join(folder, 'chats.db');
    const store = await openStore(file);
    await store.createSession(key, {});
    expect(existsSync(file)).toBe(true);
    expect(existsSync(join(folder, 'duologue.db'))).toBe(false);
  });

  test('that is no database is refused, and the lock is given back', async () => {
    const file = join(folder, 'duologue.db');
    writeFileSync(file, 'this is a letter, not a database, and it is long enough to be read as one');
    await expect(openStore()).rejects.toThrow(StoreError);
    await expect(openStore()).rejects.toThrow(/duologue\.db cannot be opened: .*not a database/);
    rmSync(file);
    await openStore();
    await expect(openStore(join(file, 'inside a file'))).rejects.toThrow(/cannot be opened: .*ENOTDIR/);
  });

  test('undoes a transaction that fails at its last statement', async () => {
    const store = await openStore();
    await store.createSession(key, { mood: 'calm' });
    await store.issueCalls(key, [callOf('c1')]);
    const db = await openFile();
    db.exec(
      `create trigger fault before update of updated_at on sessions begin select raise(abort, 'fault'); end`,
    );
    const event = answerEvent('e1', ['c1'], { mood: 'wild', 'app:x': 1, 'user:x': 1 });
    await expect(store.appendEvent(key, event)).rejects.toThrow('fault');
    db.exec('drop trigger fault');
    expect(await store.loadSession(key)).toMatchObject({ state: { mood: 'calm' }, events: [] });
    expect(Object.keys((await store.loadSession(key))?.state ?? {})).toEqual(['mood']);
    expect(await store.openCalls(key)).toEqual([callOf('c1')]);
    await store.appendEvent(key, event);
    expect(await store.openCalls(key)).toEqual([]);
  });

  test('writes neither move nor line when the line fails', async () => {
    const store = await openStore();
    await store.createSession(key, {});
    await store.issueCalls(key, [callOf('c1')]);
    const db = await openFile();
    db.exec(`create trigger fault before insert on audit_lines begin select raise(abort, 'fault'); end`);
    const move = { id: 'c1', from: 'requested', to: 'approved' } as const;
    await expect(store.moveCall(key, move, lineOf('approved', 'c1'))).rejects.toThrow('fault');
    expect(await store.openCalls(key)).toEqual([callOf('c1')]);
    db.exec('drop trigger fault');
    expect(await store.moveCall(key, move, lineOf('approved', 'c1'))).toMatchObject({ status: 'approved' });
    expect((await auditLines(store, key)).map((line) => line.kind)).toEqual(['issued', 'approved']);
  });
});

describe('an owner', () => {
  const own = async (store: Store) => {
    const owned = await store.own(key);
    if (!owned) throw new Error('There is no session to own.');
    return owned;
  };

  test('is stale when the store was opened again and has another', async () => {
    const first = await openStore();
    await first.createSession(key, {});
    const before = await own(first);
    await first.close();
    const second = await openStore();
    await second.putMessage(before, messageOf('m1', 'nobody took it over yet'));
    const after = await own(second);
    expect(after.fence).toBeGreaterThan(before.fence);
    await expect(second.putMessage(before, messageOf('m2', 'stale'))).rejects.toThrow(StaleFence);
    await second.putMessage(after, messageOf('m3', 'owned'));
    expect(await second.loadMessages(key)).toEqual([
      messageOf('m1', 'nobody took it over yet'),
      messageOf('m3', 'owned'),
    ]);
  });

  test('whose taking over fails in the middle has taken nothing', async () => {
    const store = await openStore();
    await store.createSession(key, {});
    const first = await own(store);
    const db = await openFile();
    db.exec(
      `create trigger fault before update of fence on sessions begin select raise(abort, 'fault'); end`,
    );
    await expect(store.own(key)).rejects.toThrow('fault');
    db.exec('drop trigger fault');
    await store.putMessage(first, messageOf('m1', 'still mine'));
    expect((await own(store)).fence).toBe(first.fence + 1);
  });

  test('whose write fails in the middle has written nothing, and may write again', async () => {
    const store = await openStore();
    await store.createSession(key, { mood: 'calm' });
    const owner = await own(store);
    await store.issueCalls(owner, [callOf('c1')]);
    const db = await openFile();
    db.exec(
      `create trigger fault before update of updated_at on sessions begin select raise(abort, 'fault'); end`,
    );
    const event = answerEvent('e1', ['c1'], { mood: 'wild' });
    await expect(store.appendEvent(owner, event)).rejects.toThrow('fault');
    db.exec('drop trigger fault');
    expect(await store.loadSession(key)).toMatchObject({ state: { mood: 'calm' }, events: [] });
    expect(await store.openCalls(key)).toEqual([callOf('c1')]);
    await store.appendEvent(owner, event);
    expect(await store.openCalls(key)).toEqual([]);
  });

  test('of a folder from before there were owners can be had', async () => {
    const db = await openFile();
    migrate(db, migrations.slice(0, 1));
    db.exec(
      `insert into sessions (app, user, id, state, created_at, updated_at) values ('shop', 'ann', 's1', '{}', 1, 1)`,
    );
    db.close();
    open.length = 0;
    const store = await openStore();
    const owner = await own(store);
    await expect(store.putMessage(key, messageOf('m1', 'unowned'))).rejects.toThrow(StaleFence);
    await store.putMessage(owner, messageOf('m2', 'owned'));
    expect(await store.loadMessages(key)).toEqual([messageOf('m2', 'owned')]);
  });
});

describe('two servers on one folder', () => {
  test('the second in one process is told what to do, and may come after the first has closed', async () => {
    const first = await openStore();
    await expect(openStore()).rejects.toThrow(StoreError);
    await expect(openStore()).rejects.toThrow(
      /duologue\.db is in use by another Duologue server \(process \d+ on \S+ since \S+\): stop that one, or give this one a folder of its own \(DUOLOGUE_DATA\)\./,
    );
    await first.createSession(key, {});
    await first.close();
    expect(await (await openStore()).loadSession(key)).not.toBeNull();
  });

  test('another process is kept out, until it is killed', async () => {
    const other = await startWriter('hold');
    expect(await other.next()).toBe('open');
    await expect(openStore()).rejects.toThrow(`(process ${other.process.pid} on `);
    await other.kill();
    await openStore();
  });
});

describe('a process that is killed while it writes', () => {
  test('leaves every write that was acknowledged, and no half of one', async () => {
    let last = -1;
    for (const acknowledged of [3, 40, 150]) {
      const child = await startWriter('write');
      expect(await child.next()).toBe('open');
      for (let index = 0; index < acknowledged; index++) last = Number(await child.next());
      await child.kill();
      for (let line = await child.next(); line !== null; line = await child.next()) last = Number(line);

      const store = await openStore();
      const session = await store.loadSession(key);
      const count = session?.events.length ?? 0;
      expect(count).toBeGreaterThan(last);
      expect(count).toBeLessThanOrEqual(last + 2);
      expect(session?.events.map((event) => event.id)).toEqual(
        Array.from({ length: count }, (_, index) => `e${index}`),
      );
      expect(session?.state).toEqual({ count });
      const open = await store.openCalls(key);
      expect([[], [`c${count}`]]).toContainEqual(open.map((call) => call.id));
      expect(await auditLines(store, key)).toHaveLength(count + open.length);
      for (let index = 0; index < count; index++) {
        expect((await store.findCall(key, { id: `c${index}` }))?.status).toBe('settled');
      }
      await store.close();
    }
  });
});

describe('the schema', () => {
  test('goes from version to version in order, each step once', async () => {
    const db = await openFile();
    const taken: string[] = [];
    const steps = ['one', 'two', 'three'].map((name) => (each: Database) => {
      taken.push(name);
      each.exec(`create table ${name} (n integer)`);
    });
    migrate(db, steps.slice(0, 1));
    migrate(db, steps);
    migrate(db, steps);
    expect(taken).toEqual(['one', 'two', 'three']);
    expect(db.prepare<{ user_version: number }>('pragma user_version').first()?.user_version).toBe(3);
  });

  test('a step that fails changes nothing, and is tried again', async () => {
    const db = await openFile();
    const good = (each: Database) => each.exec('create table one (n integer)');
    const bad = (each: Database) => {
      each.exec('create table two (n integer)');
      throw new Error('half way');
    };
    expect(() => migrate(db, [good, bad])).toThrow('half way');
    expect(db.prepare<{ user_version: number }>('pragma user_version').first()?.user_version).toBe(1);
    expect(db.prepare<{ name: string }>('select name from sqlite_schema').all()).toMatchObject([
      { name: 'one' },
    ]);
    migrate(db, [good, (each) => each.exec('create table two (n integer)')]);
  });

  test('a file of every earlier version opens with its data', async () => {
    for (let version = 1; version <= migrations.length; version++) {
      const file = join(folder, `version-${version}.db`);
      const db = await openFile(file);
      migrate(db, migrations.slice(0, version));
      db.exec(`insert into sessions (app, user, id, state, created_at, updated_at)
        values ('shop', 'ann', 's1', '{"mood":"calm"}', 1, 2)`);
      db.exec(`insert into events (session, seq, id, data) values (1, 1, 'e1', '{"id":"e1"}')`);
      const store = await openStore(file);
      expect(await store.loadSession(key)).toEqual({
        id: 's1',
        title: null,
        createdAt: 1,
        updatedAt: 2,
        state: { mood: 'calm' },
        events: [{ id: 'e1' }],
      });
    }
  });

  test('a file from a newer version is left alone', async () => {
    const db = await openFile();
    db.exec('pragma user_version = 99');
    db.exec('create table tomorrow (n integer)');
    await expect(openStore()).rejects.toThrow(
      new StoreError(
        `The data folder was written by a newer Duologue (schema 99, this one knows ${migrations.length}): update Duologue, or choose another folder.`,
      ),
    );
    expect(db.prepare<{ name: string }>('select name from sqlite_schema').all()).toMatchObject([
      { name: 'tomorrow' },
    ]);
  });

  test('reading the events of a session needs no search of the others', async () => {
    await (await openStore()).createSession(key, {});
    const db = await openFile();
    const plan = (sql: string) =>
      db
        .prepare<{ detail: string }>(`explain query plan ${sql}`)
        .all()
        .map((row) => row.detail);
    for (const table of ['events', 'messages', 'calls', 'files']) {
      expect(plan(`select * from ${table} where session = 1`)).toEqual([expect.stringMatching(/^SEARCH /)]);
    }
    expect(plan('select data from events where session = 1 order by seq')).toEqual([
      'SEARCH events USING PRIMARY KEY (session=?)',
    ]);
    expect(
      plan(`select * from audit_lines where app = '' and user = '' and session_id = '' order by n`),
    ).toEqual([expect.stringMatching(/^SEARCH .*audit_of_session/)]);
  });
});

describe('text in a column', () => {
  test.each(['', 'plain', 'é', '👋', '\0', 'a\0b', '\ud800', 'x\udc00', '\u001b', '\u001b"a"', '\ufffd'])(
    '%j comes back as it was',
    async (value) => {
      expect(fromText(toText(value))).toBe(value);
      const db = await openFile();
      const row = db.prepare<{ value: string }>('select ? as value').first(toText(value));
      expect(fromText(row?.value ?? '')).toBe(value);
    },
  );
});

interface Writer {
  process: ChildProcess;
  /** The next line it says; null after its end. */
  next(): Promise<string | null>;
  kill(): Promise<void>;
}

async function startWriter(work: 'hold' | 'write'): Promise<Writer> {
  const child = spawn(process.execPath, ['--import', 'tsx', writer, folder, work], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  open.push({ close: () => child.kill('SIGKILL') });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    process: child,
    async next() {
      const line = await lines.next();
      return line.done ? null : line.value;
    },
    async kill() {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}
