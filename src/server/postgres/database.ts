import type { Pool, PoolClient, PoolConfig, QueryResultRow } from 'pg';
import { StoreError } from '../store/store.ts';

/** Options of a PostgreSQL store. */
export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`, as `pg` takes it. */
  url: string;
  /** The schema with the tables; `duologue` unless given. Several servers may share a database if each has its own schema. */
  schema?: string;
  /** The largest number of connections; 10 unless given. */
  connections?: number;
  /** How long a write or a read is retried while the database is unreachable, in milliseconds; 10 seconds unless given. */
  retryForMs?: number;
  /** Whether and how connections use TLS: the option `ssl` of the package `pg`. */
  ssl?: PoolConfig['ssl'];
  /** The clock for stored times; that of the database unless given. */
  now?: () => number;
  /** Called when an idle connection broke. */
  onWarning?: (message: string) => void;
}

/** A parameter of a statement. */
export type Value = string | number | boolean | null | Uint8Array | readonly (string | null)[];

/**
 * The timeout of a statement. No statement of the server takes this long. So when the time has passed, the connection or the database hangs, and the statement
 * is sent again.
 */
const ANSWER_MS = 10_000;
const CONNECT_MS = 5000;
const MIN_WAIT_MS = 10;
const MAX_WAIT_MS = 500;
const INT8 = 20;

/** The connections to one database. */
export class Database {
  readonly #pool: Pool;
  readonly #retryForMs: number;
  #closing: Promise<void> | null = null;

  private constructor(pool: Pool, retryForMs: number) {
    this.#pool = pool;
    this.#retryForMs = retryForMs;
  }

  static async open(options: PostgresOptions): Promise<Database> {
    const { default: pg } = await loadDriver();
    const pool = new pg.Pool({
      connectionString: options.url,
      max: options.connections ?? 10,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: ANSWER_MS,
      application_name: 'duologue',
      keepAlive: true,
      ...(options.ssl !== undefined && { ssl: options.ssl }),
      // Return 64-bit integers (times and fences) as JavaScript numbers.
      types: {
        getTypeParser: ((oid: number, format?: 'text') =>
          oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
      },
    });
    // An `error` event without a listener would end the process. When an idle connection breaks, `pg` removes it from the pool, and the pool emits `error`.
    // When a connection in use breaks, its client emits `error`, and its running statement fails, or the next one.
    pool.on('error', (error) => options.onWarning?.(`a connection to PostgreSQL broke: ${error.message}`));
    pool.on('connect', (client) => client.on('error', () => undefined));
    return new Database(pool, options.retryForMs ?? 10_000);
  }

  /**
   * Runs a statement, which is prepared under `name`. The statement must be safe to run twice, because it is sent again when its answer was lost. Returns the
   * rows, and whether the statement was sent more than once (`again`).
   */
  async query<Row extends QueryResultRow>(
    name: string,
    text: string,
    values: readonly Value[],
  ): Promise<{ rows: Row[]; again: boolean }> {
    const until = performance.now() + this.#retryForMs;
    let wait = MIN_WAIT_MS;
    for (let again = false; ; again = true) {
      if (this.#closing) throw new StoreError('The store is closed.');
      try {
        const { rows } = await this.#pool.query<Row>({ name, text, values: [...values] });
        return { rows, again };
      } catch (error) {
        if (!isPassing(error) || performance.now() + wait > until) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 2, MAX_WAIT_MS);
    }
  }

  /** Runs work on one connection that no other work uses meanwhile. */
  async connected<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    try {
      return await work(client);
    } finally {
      client.release();
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#pool.end();
    return this.#closing;
  }
}

/** Codes of temporary errors: deadlocks and serialisation failures, a server that stops, starts or is read-only (during a failover), too many connections. */
const PASSING = new Set([
  ...['40001', '40P01', '57P01', '57P02', '57P03', '53300', '25006'],
  ...['ECONNREFUSED', 'ECONNRESET'],
]);
/** Codes of a database that cannot be used: too few resources (a full disk), a stop by an administrator, a system error, a revoked login or privilege. */
const UNAVAILABLE = /^(53|57|58|28)|^42501$/;
const BROKEN = /terminated|timeout|ended by|closed the connection|not queryable/i;

/** Whether the same statement may succeed in a moment, because the database or the network is unavailable only for a short time. */
function isPassing(error: unknown): boolean {
  const code = codeOf(error);
  if (code === null) return error instanceof Error && BROKEN.test(error.message);
  return PASSING.has(code) || code.startsWith('08') || /^E(PIPE|TIMEDOUT|HOSTUNREACH|NETUNREACH)$/.test(code);
}

/** Whether the database refuses writes at the moment for a reason outside of the statement, which an administrator may have to repair. */
export function isUnavailable(error: unknown): boolean {
  return isPassing(error) || UNAVAILABLE.test(codeOf(error) ?? '');
}

/** The code of an error of the database or of the system; null when it has none. */
export function codeOf(error: unknown): string | null {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : null;
}

/** The error text about a database that cannot be used: the cause, and what to do. It never contains the password. */
export function describeFault(error: unknown, url: string): string {
  const where = placeOf(url);
  switch (codeOf(error)) {
    case 'ECONNREFUSED':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'ETIMEDOUT':
      return `No PostgreSQL answers at ${where}: check the address (DATABASE_URL), and that it runs.`;
    case '28P01':
    case '28000':
      return `PostgreSQL at ${where} refuses the login: check the name and the password (DATABASE_URL).`;
    case '3D000':
      return `PostgreSQL at ${where} has no such database: create it, or check its name (DATABASE_URL).`;
    case '42501':
      return `The user of DATABASE_URL lacks permissions in ${where}: let it create a schema, or make it the owner of the schema and of everything in it.`;
    case '26000':
    case '42P05':
      return `PostgreSQL at ${where} is behind a pooler that loses prepared statements: set max_prepared_statements (PgBouncer 1.21 or newer), or give the address of PostgreSQL itself.`;
    case '25006':
      return `PostgreSQL at ${where} is read-only (a standby?): give the address of the primary.`;
    case '53100':
      return `The disk of PostgreSQL at ${where} is full, so nothing can be written: make room.`;
    default:
      return `PostgreSQL at ${where} cannot be used: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** The address without user and password. */
function placeOf(url: string): string {
  try {
    const { hostname, port, pathname } = new URL(url);
    return `${hostname}${port && `:${port}`}${pathname}`;
  } catch {
    return 'the given address';
  }
}

async function loadDriver(): Promise<typeof import('pg')> {
  try {
    return await import('pg');
  } catch (cause) {
    throw new StoreError('Keeping sessions in PostgreSQL needs the package pg: run `npm install pg`.', {
      cause,
    });
  }
}
