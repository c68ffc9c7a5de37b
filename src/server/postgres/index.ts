/**
 * Everything of a conversation in one schema of PostgreSQL, for servers that outgrow one process: several may use it at once. `tables.ts` is what is stored,
 * `functions.ts` has a function of the database for each write, and `store.ts` calls them (through `schema-calls.ts`), as `node-directory.ts` does for nodes; `database.ts` has the connections, and sends again what was lost.
 * A change of tables or functions is a new step in `schema.ts`. State lives in the database alone.
 */
import type { SharedStore } from '../store/nodes.ts';
import { StoreError } from '../store/store.ts';
import { Database, inWords, type PostgresOptions } from './database.ts';
import { migrate, quote } from './schema.ts';
import { PostgresStore } from './store.ts';

export type { PostgresOptions };

/**
 * Opens the store in a schema of a database, creating what is missing. Several servers may use one; a database that cannot be used
 * throws a `StoreError` that says why.
 */
export async function openPostgresStore(options: PostgresOptions): Promise<SharedStore> {
  const { url, schema = 'duologue', now } = options;
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw new StoreError(
      'The name of the schema must be small letters, digits and "_", and begin with no digit.',
    );
  }
  const db = await Database.open(options);
  try {
    await db.connected(async (client) => {
      const { rows } = await client.query<{ server_encoding: string }>('show server_encoding');
      if (rows[0]?.server_encoding !== 'UTF8') {
        throw new StoreError(
          `The database keeps texts as ${rows[0]?.server_encoding}: create one with the encoding UTF8.`,
        );
      }
      await migrate(client, schema);
    });
    return new PostgresStore(db, quote(schema), url, now);
  } catch (cause) {
    await db.close();
    if (cause instanceof StoreError) throw cause;
    throw new StoreError(inWords(cause, url), { cause });
  }
}
