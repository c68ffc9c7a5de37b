import type { DuologueOptions, Store } from '../../../src/server/index.ts';
import { MODES, type Mode, type Talk, talk } from './talk.ts';

/** A database for the sessions of one row. */
export interface RowDatabase {
  /** Opens its store, as the process of a server does. */
  open(): Promise<Store>;
  /** Further options of the server that opened it last: its place in a cluster. */
  options?(): Partial<DuologueOptions>;
  /** The process was killed: what it had stored is all that the next `open` finds. */
  kill(): Promise<void>;
}

/** The setup in which a row of the matrix is tested: a mode and a database. */
export class Place {
  readonly mode: Mode;
  readonly #database: RowDatabase;
  #last: Talk | null = null;

  constructor(mode: Mode, database: RowDatabase) {
    this.mode = mode;
    this.#database = database;
  }

  /** Opens the conversation on a server with this database. */
  async talk(options: Partial<DuologueOptions>): Promise<Talk> {
    const store = await this.#database.open();
    this.#last = await talk(this.mode, { store, ...this.#database.options?.(), ...options });
    return this.#last;
  }

  /** Opens the same conversation on a server in another process, after the first one was killed. */
  async afterKill(options: Partial<DuologueOptions>): Promise<Talk> {
    await this.#last?.stored();
    await this.#database.kill();
    return this.talk(options);
  }
}

/** A row of the matrix: a feature of ADK, the text of the table for each mode, and the conversation that proves it. */
export interface Row extends Record<Mode, string> {
  feature: string;
  run(place: Place): Promise<void>;
}

/** A row that works in both modes; over BIDI perhaps only turn by turn. */
export function works(feature: string, run: Row['run'], bidi = 'yes'): Row {
  return { feature, SSE: 'yes', BIDI: bidi, run };
}

/** A feature that the server rejects, with the same error text in both modes. */
export function refused(feature: string, words: string, run: Row['run']): Row {
  return { feature, SSE: words, BIDI: words, run };
}

/** The table of rows; a cell says "fails" where the conversation of the row failed. */
export function tableOf(rows: readonly Row[], passed: ReadonlySet<string>): string {
  const cell = (row: Row, mode: Mode) => (passed.has(cellOf(row, mode)) ? row[mode] : 'fails');
  return [
    `| feature | ${MODES.join(' | ')} |`,
    '|---|---|---|',
    ...rows.map((row) => `| ${row.feature} | ${MODES.map((mode) => cell(row, mode)).join(' | ')} |`),
  ].join('\n');
}

/** Names a cell of the table. */
export function cellOf({ feature }: Row, mode: Mode): string {
  return `${mode}: ${feature}`;
}

const BLOCK = /(<!-- generated: matrix -->\n)[\s\S]*?(\n<!-- end -->)/;

/** A document with the table in its generated block. */
export function withTable(document: string, table: string): string {
  if (!BLOCK.test(document)) throw new Error('The document has no block for the matrix.');
  return document.replace(BLOCK, (_, start: string, end: string) => start + table + end);
}
