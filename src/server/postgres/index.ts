/**
 * A store in one schema of PostgreSQL, which several processes may use at once. `tables.ts` declares the tables, `functions.ts` has a function of the
 * database for each write, and `store.ts` calls them (through `schema-calls.ts`), as `node-directory.ts` does for nodes. `database.ts` owns the connections,
 * and repeats statements whose answer was lost. A change of tables or functions is a new step in `schema.ts`. All state is in the database.
 */
import { randomUUID } from 'node:crypto';
import { type SharedStore, StoreError } from '../store/store.ts';
import { Database, describeFault, type PostgresOptions } from './database.ts';
import { migrate, quote } from './schema.ts';
import { PostgresStore } from './store.ts';

export type { PostgresOptions };

/** How many test sessions are written in parallel when a store is opened. */
const TRIALS = 4;

/** Writes and removes a test session, so that a missing privilege of the database user fails the start and not a conversation. */
async function tryOut(store: SharedStore): Promise<void> {
  const key = { app: '', user: '', id: randomUUID() };
  await store.createSession(key, {});
  const owner = await store.own(key);
  if (owner)
    await store.putMessage(owner, { id: 'try', role: 'user', parts: [{ type: 'text', text: 'try' }] });
  await store.deleteSession(key);
}

/**
 * Opens the store in a schema of a database, and creates missing tables. Several nodes may use one store. Throws a `StoreError` with the reason when the
 * database cannot be used.
 *
 * @example
 * const store = await openPostgresStore({ url: 'postgres://user:password@host/database' });
 */
export async function openPostgresStore(options: PostgresOptions): Promise<SharedStore> {
  const { url, schema = 'duologue', now } = options;
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw new StoreError(
      'The name of the schema may have only small letters, digits and "_", and must not begin with a digit.',
    );
  }
  const db = await Database.open(options);
  try {
    await db.connected(async (client) => {
      const { rows } = await client.query<{ server_encoding: string }>('show server_encoding');
      if (rows[0]?.server_encoding !== 'UTF8') {
        throw new StoreError(
          `The database has the encoding ${rows[0]?.server_encoding}: create one with the encoding UTF8.`,
        );
      }
      const { rows: modes } = await client.query<{ transaction_read_only: string }>(
        'show transaction_read_only',
      );
      if (modes[0]?.transaction_read_only === 'on')
        throw new StoreError(describeFault({ code: '25006' }, url));
      await migrate(client, schema);
      await client.query(removeBlank(quote(schema)), [now?.() ?? null]);
    });
    const store = new PostgresStore(db, quote(schema), url, now);
    // Several trials at once use several connections. With a single connection, a pooler that loses prepared statements would go unnoticed.
    await Promise.all(Array.from({ length: TRIALS }, () => tryOut(store)));
    return store;
  } catch (cause) {
    await db.close();
    if (cause instanceof StoreError) throw cause;
    throw new StoreError(describeFault(cause, url), { cause });
  }
}

/**
 * The SQL that removes sessions without title and content that were not used for a day and that no living node owns. A running node removes such sessions
 * itself; a node that died could not.
 */
function removeBlank(schema: string): string {
  return `with blank as (
      delete from ${schema}.sessions s
      where title is null and updated_at < ${schema}.clock_ms($1) - 24 * 3600000
        and not exists (select from ${schema}.messages where session = s.n)
        and not exists (select from ${schema}.waiting where session = s.n)
        and not exists (select from ${schema}.events where session = s.n and id <> 'client_identifier')
        and not exists (select from ${schema}.nodes where name = s.node and until > clock_timestamp())
      returning n, name
    ),
    events as (delete from ${schema}.events where session in (select n from blank)),
    state as (delete from ${schema}.state where scope in (select name from blank))
    delete from ${schema}.requests where session in (select n from blank)`;
}
