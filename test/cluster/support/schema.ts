import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, inject } from 'vitest';
import { openPostgresStore } from '../../../src/server/postgres/index.ts';
import type { SharedStore } from '../../../src/server/store/store.ts';

/** A schema of the shared PostgreSQL for the tests of one file, and a connection to look into it. */
export interface TestSchema {
  url: string;
  name: string;
  sql(text: string): Promise<Record<string, unknown>[]>;
  open(now?: () => number, name?: string): Promise<SharedStore>;
  /** Empties every table. */
  empty(): Promise<void>;
}

export function testSchema(): TestSchema {
  const url = inject('postgres');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const client = new pg.Client({ connectionString: url });
  // When the connection breaks, the next statement fails, in the test that needs it.
  client.on('error', () => undefined);
  beforeAll(() => client.connect());
  afterAll(async () => {
    await client.query(`drop schema if exists ${name} cascade`);
    await client.end();
  });
  const sql = async (text: string) => (await client.query<Record<string, unknown>>(text)).rows;
  return {
    url,
    name,
    sql,
    open: (now, schema = name) => openPostgresStore({ url, schema, ...(now && { now }) }),
    async empty() {
      const tables = await sql(
        `select string_agg(format('%I.%I', schemaname, tablename), ', ') as names from pg_tables
         where schemaname = '${name}' and tablename <> 'version'`,
      );
      if (tables[0]?.names) await sql(`truncate ${tables[0].names}`);
    },
  };
}
