import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type PostgresServer, startPostgres } from '../../scripts/cluster/postgres-server.ts';
import { say } from '../support/harness.ts';
import { counted, deltas, Group, messagesOf, post, textOf, wordsOf } from './support/group.ts';

const ENDED = "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'node'";

describe.runIf(inject('canStartEngines'))(
  'a PostgreSQL that takes nothing while an answer is written',
  () => {
    let postgres: PostgresServer;
    let group: Group;

    beforeAll(async () => {
      postgres = await startPostgres();
      await sql('create role node login');
      await sql('create database chats owner node');
      const database = postgres.url.replace('postgres@', 'node@').replace(/postgres$/, 'chats');
      // A read or a write is given up soon, so that the test need not wait long for that.
      group = new Group({ database, schema: 'chats', redis: inject('redis'), retryForMs: 500 }, 1);
      await group.open();
    });
    afterAll(async () => {
      await group.close();
      await postgres.close();
    });

    async function sql(text: string): Promise<void> {
      const client = new pg.Client({ connectionString: postgres.url });
      client.on('error', () => undefined);
      await client.connect();
      await client.query(text);
      await client.end();
    }

    test.each([
      ['is away', () => postgres.stop('fast'), () => postgres.start()],
      [
        'only reads',
        () => sql(`alter role node set default_transaction_read_only = on; ${ENDED}`),
        () => sql(`alter role node reset default_transaction_read_only; ${ENDED}`),
      ],
    ])(
      'because it %s has all that the person read afterwards, and the model remembers it',
      async (_, stop, go) => {
        const node = group.one(0);
        const id = `s-${randomUUID()}`;
        const socket = await group.connect(node.url, id);
        socket.say('count 100');
        await socket.until(() => wordsOf(socket).startsWith(counted(20)), 'twenty words');
        const before = node.complaints.length;
        await stop();
        // What is written last is given up, or waits.
        const last = /(message|event of the agent) cannot be stored/;
        await expect.poll(() => node.complaints.slice(before), { timeout: 60_000 }).toMatch(last);
        await go();
        await socket.done();
        expect(wordsOf(socket)).toBe(counted(100));
        const { messages } = await messagesOf(node.url, id);
        expect(messages.map(textOf)).toEqual(['count 100', counted(100)]);
        expect(messages[1]?.metadata).not.toMatchObject({ failed: true });
        expect(deltas(await post(node.url, say('count 3', id, 'more')))).toBe(counted(3));
        const events = await (await fetch(`${node.url}/sessions/${id}/events`)).text();
        expect(events).toContain(counted(100));
      },
    );

    test('a node that gets SIGTERM meanwhile ends with code 0, and says what becomes of its sessions', async () => {
      const node = await group.start({ drainMs: 2000 });
      const id = `s-${randomUUID()}`;
      expect(deltas(await post(node.url, say('count 3', id)))).toBe(counted(3));
      await postgres.stop('fast');
      await group.end(node, 'SIGTERM');
      await postgres.start();
      expect(node.process.exitCode).toBe(0);
      expect(node.complaints).toContain('store unavailable at shutdown');
    });
  },
);
