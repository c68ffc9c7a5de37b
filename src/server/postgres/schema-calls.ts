import { noSuchSession, recordedAlready } from '../store/rules.ts';
import {
  type OutboxEvent,
  type SessionKey,
  StaleFence,
  StateConflict,
  StoreError,
  StoreUnavailable,
} from '../store/store.ts';
import { codeOf, type Database, describeFault, isUnavailable, type Value } from './database.ts';
import { statementsIn } from './statements.ts';
import { eventsIn, nameIn } from './values.ts';

/** Events that a statement adds to the outbox. `values` are the parameters of `add_events`. With `ifTrue` they are added only if the function returns true. */
export type KeptEvents = { values: Value[]; ifTrue?: true } | null;

/** The events of a session that a write adds to the outbox; null when there are none. `at` is the time of the write; null is that of the database. */
export function keptIn(
  key: SessionKey,
  at: number | null,
  events: readonly OutboxEvent[] | undefined,
): KeptEvents {
  return events?.length ? { values: [nameIn(key), at, eventsIn(key, events)] } : null;
}

/** Calls statements and functions of one schema. Errors of the database become errors of the store. */
export class SchemaCalls {
  readonly #db: Database;
  readonly #schema: string;
  readonly #url: string;
  readonly #sql: ReturnType<typeof statementsIn>;

  constructor(db: Database, schema: string, url: string) {
    this.#db = db;
    this.#schema = schema;
    this.#url = url;
    this.#sql = statementsIn(schema);
  }

  async read<Row extends object>(
    name: keyof ReturnType<typeof statementsIn>,
    values: Value[],
  ): Promise<Row[]> {
    try {
      return (await this.#db.query<Row>(`duologue ${name}`, this.#sql[name], values)).rows;
    } catch (error) {
      throw this.#translated(error, null);
    }
  }

  async call(key: SessionKey, name: string, values: Value[], kept?: KeptEvents): Promise<void> {
    await this.run(key, name, values, kept);
  }

  /** Calls a function and returns its value. `key` is the session for error texts; null for a function without a session. */
  async value<T>(key: SessionKey | null, name: string, values: Value[]): Promise<T> {
    return ((await this.run<{ value: T }>(key, name, values)).rows[0] as { value: T }).value;
  }

  /**
   * Calls a function of the schema. In the result, `again` says whether the statement was sent more than once. After the function, the
   * statement adds the events `kept` to the outbox, unless the function returns no row.
   */
  async run<Row extends object>(
    key: SessionKey | null,
    name: string,
    values: Value[],
    kept: KeptEvents = null,
  ): Promise<{ rows: Row[]; again: boolean }> {
    const all = kept ? [...values, ...kept.values] : values;
    const places = all.map((_, index) => `$${index + 1}`);
    const own = places.slice(0, values.length).join(', ');
    try {
      const text = `from ${this.#schema}.${name}(${own}) as value`;
      if (!kept) return await this.#db.query<Row>(`duologue ${name}`, `select * ${text}`, values);
      const added = `${this.#schema}.add_events(${places.slice(values.length).join(', ')})`;
      const column = kept.ifTrue ? `case when value then ${added} end` : added;
      return await this.#db.query<Row>(`duologue ${name} with events`, `select *, ${column} ${text}`, all);
    } catch (error) {
      throw this.#translated(error, key);
    }
  }

  #translated(error: unknown, key: SessionKey | null): Error {
    if (error instanceof StoreError) return error;
    const code = codeOf(error);
    if (key && code === 'DL001') return new StaleFence(key);
    if (key && code === 'DL002') return noSuchSession(key);
    if (key && code === 'DL003') return new StoreError(`The session ${key.id} exists already.`);
    if (code === 'DL004')
      return new StateConflict(`The state has changed since the tool read it: ${(error as Error).message}`);
    if (code === '23505') return recordedAlready('call or approval');
    const words = describeFault(error, this.#url);
    return new (isUnavailable(error) ? StoreUnavailable : StoreError)(words, { cause: error });
  }
}
