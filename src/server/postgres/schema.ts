import type { ClientBase } from 'pg';
import { StoreError } from '../store/store.ts';
import { ARTIFACTS } from './artifact-statements.ts';
import {
  CALLS_OF_AGENTS,
  CREATE_OWNED,
  DELETE_REFUSED_LINES,
  FUNCTIONS,
  QUESTIONS,
  SERVER_API,
} from './functions.ts';
import { CLAIM_LOCKED_QUEUES, OUTBOX } from './outbox-statements.ts';
import { TABLES } from './tables.ts';

/** The steps from an empty schema, as SQL; step `n` leads to version `n + 1`. Released steps are never changed. */
export const migrations: readonly string[] = [
  TABLES + FUNCTIONS,
  DELETE_REFUSED_LINES,
  'create index on {schema}.sessions (owner, updated_at desc, id collate "C");',
  SERVER_API,
  QUESTIONS,
  ARTIFACTS,
  CALLS_OF_AGENTS,
  OUTBOX,
  CLAIM_LOCKED_QUEUES,
  CREATE_OWNED,
];

/**
 * Migrates the schema to the newest version, in one transaction; throws for a schema of a newer Duologue. Two nodes may migrate it at once: the second waits
 * for the first, and finds nothing left to do.
 */
export async function migrate(
  client: ClientBase,
  schema: string,
  steps: readonly string[] = migrations,
): Promise<void> {
  const name = quote(schema);
  await client.query('begin');
  try {
    await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`duologue ${schema}`]);
    const version = await versionOf(client, schema);
    if (version > steps.length) {
      throw new StoreError(
        `The schema ${schema} was written by a newer Duologue (version ${version}, this one knows ${steps.length}): ` +
          'update Duologue, or choose another schema.',
      );
    }
    if (version < steps.length) {
      // `create schema if not exists` needs the right to create schemas even when the schema exists.
      const { rows } = await client.query<{ found: string | null }>('select to_regnamespace($1) as found', [
        name,
      ]);
      if (!rows[0]?.found) await client.query(`create schema ${name}`);
      for (const step of steps.slice(version)) await client.query(step.replaceAll('{schema}', name));
      await client.query(
        `create table if not exists ${name}.version (number integer not null);
         delete from ${name}.version;
         insert into ${name}.version (number) values (${steps.length})`,
      );
    }
    await client.query('commit');
  } catch (error) {
    // The connection may be gone, and the transaction with it.
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

async function versionOf(client: ClientBase, schema: string): Promise<number> {
  const table = `${quote(schema)}.version`;
  const { rows } = await client.query<{ found: string | null }>('select to_regclass($1) as found', [table]);
  if (!rows[0]?.found) return 0;
  const version = await client.query<{ number: number }>(`select number from ${table}`);
  return version.rows[0]?.number ?? 0;
}

/** A name as a quoted identifier of SQL. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
