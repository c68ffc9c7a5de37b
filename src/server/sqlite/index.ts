/**
 * Everything of a conversation in one SQLite file. One process at a time may hold the file (`lock.ts`); the schema is brought
 * up to date when it is opened (`schema.ts`). `sqlite-store.ts` makes each call of the store one transaction and checks who
 * owns the session; each other file holds the statements of one table. State lives in the file alone.
 */
export { openSqliteStore } from './open.ts';
