import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Cost, Pricer } from '../parse/cost.ts';
import { type ParsedResponse, type ParseOptions, parse } from '../parse/index.ts';
import { type Row, table, view } from './record-view.ts';

/** The input and output of a command. */
export interface Io {
  out(text: string): void;
  err(text: string): void;
  stdin: AsyncIterable<unknown>;
  /** Whether `err` writes to a terminal. A progress bar is shown only there. */
  isTerminal: boolean;
  /** Milliseconds since an arbitrary moment. */
  now(): number;
}

/** A subcommand. It gets the arguments after its name, and resolves with the exit code. */
export type Command = (args: readonly string[], io: Io) => Promise<number>;

/** A progress bar that appears only when the work takes longer than a second. */
export interface Progress {
  update(done: number): void;
  end(): void;
}

const PROGRESS_AFTER_MS = 1000;
const REDRAW_MS = 100;
const WIDTH = 30;

/** Starts a progress bar for a number of steps. It draws nothing when `err` is not a terminal. */
export function createProgress(total: number, io: Io): Progress {
  const start = io.now();
  let drawn = 0;
  return {
    update(done) {
      const now = io.now();
      if (!io.isTerminal || now - start < PROGRESS_AFTER_MS || now - drawn < REDRAW_MS) return;
      drawn = now;
      const filled = Math.round((done / total) * WIDTH);
      io.err(`\r[${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}] ${done}/${total}`);
    },
    end() {
      if (drawn > 0) io.err(`\r${' '.repeat(WIDTH + 30)}\r`);
    },
  };
}

const HELP = `usage: duologue parse FILE|FOLDER|- ... [options]

Shows what a model provider's API returned: OpenAI (and compatible APIs), Anthropic, AWS Bedrock, Google Gemini,
Cohere and Ollama. Reads whole responses and streams, as JSON, server-sent events, one event a line, or an AWS event
stream. "-" is standard input. For several files or a folder it prints a table with totals.

  --provider NAME   name the provider instead of guessing it from the shape
  --model NAME      the model, for the cost of responses that do not name it
  --json            print the full record (several files: one record a line)
  --cost            add the cost in US dollars (needs @pydantic/genai-prices)
  --help            this text

exit codes: 0 every response was read and is complete; 1 at least one is an error, was cut or is not a response;
            2 wrong usage, or a file that cannot be read
`;

const EXIT_OK = 0;
const EXIT_FAULTY = 1;
const EXIT_USAGE = 2;

/** An error that the user can correct: a wrong argument, or a file that cannot be read. */
class UsageError extends Error {}

interface Options {
  provider: string | undefined;
  model: string | undefined;
  json: boolean;
  cost: boolean;
}

function optionsOf(args: readonly string[]): { paths: string[]; help: boolean; options: Options } {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        provider: { type: 'string' },
        model: { type: 'string' },
        json: { type: 'boolean', default: false },
        cost: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    const { provider, model, json, cost, help } = values;
    return { paths: positionals, help, options: { provider, model, json, cost } };
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause));
  }
}

async function filesOf(path: string): Promise<string[]> {
  if (path === '-') return [path];
  const info = await stat(path).catch(() => {
    throw new UsageError(`${path}: no such file or folder`);
  });
  if (!info.isDirectory()) return [path];
  const entries = await readdir(path, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.') && !entry.name.endsWith('.md'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

async function bytesOf(path: string, io: Io): Promise<Uint8Array> {
  if (path !== '-') return readFile(path);
  const chunks: Buffer[] = [];
  for await (const chunk of io.stdin) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks);
}

/** Extracts the response from the bytes of a file. A file of `fixtures/responses` also has the provider, HTTP status and headers of its response. */
function fixtureOf(bytes: Uint8Array): { raw: unknown; options: ParseOptions } {
  const text = bytes[0] === 0x7b ? new TextDecoder().decode(bytes) : '';
  if (!text.includes('"_scenario"')) return { raw: bytes, options: {} };
  try {
    const { response, provider, status, headers } = JSON.parse(text);
    return { raw: response ?? bytes, options: { provider, status, headers } };
  } catch {
    return { raw: bytes, options: {} };
  }
}

function isFaulty(record: ParsedResponse): boolean {
  return record.error !== null || !record.complete;
}

async function pricerFor(options: Options): Promise<Pricer | null> {
  if (!options.cost) return null;
  try {
    const { createPricer } = await import('../parse/cost.ts');
    return await createPricer();
  } catch {
    throw new UsageError(
      '--cost needs the package @pydantic/genai-prices: npm install @pydantic/genai-prices',
    );
  }
}

async function show(paths: readonly string[], options: Options, io: Io): Promise<number> {
  const files = (await Promise.all(paths.map(filesOf))).flat();
  if (files.length === 0) throw new UsageError(`no files in ${paths.join(', ')}`);
  const pricer = await pricerFor(options);
  const progress = createProgress(files.length, io);
  const rows: Row[] = [];
  for (const [done, file] of files.entries()) {
    progress.update(done);
    const bytes = await bytesOf(file, io).catch((cause) => {
      throw new UsageError(`${file}: ${cause instanceof Error ? cause.message : cause}`);
    });
    const fixture = fixtureOf(bytes);
    const provider = options.provider ?? fixture.options.provider;
    const record = parse(fixture.raw, {
      ...fixture.options,
      ...(provider === undefined ? {} : { provider }),
    });
    const cost: Cost | null =
      pricer?.costOf(record, options.model === undefined ? {} : { model: options.model }) ?? null;
    if (options.json) {
      const full = cost === null ? record : { ...record, cost };
      io.out(
        `${JSON.stringify(files.length === 1 ? full : { file, ...full }, null, files.length === 1 ? 2 : 0)}\n`,
      );
    }
    rows.push({ file, record, cost });
  }
  progress.end();
  const [only] = rows;
  if (!options.json) io.out(rows.length === 1 && only !== undefined ? view(only) : table(rows));
  return rows.some(({ record }) => isFaulty(record)) ? EXIT_FAULTY : EXIT_OK;
}

/** The command `duologue parse`: prints one response in full, or several as a table. */
export const command: Command = async (args, io) => {
  try {
    const { paths, help, options } = optionsOf(args);
    if (help) {
      io.out(HELP);
      return EXIT_OK;
    }
    if (paths.length === 0) throw new UsageError('no file given; "-" reads standard input');
    return await show(paths, options, io);
  } catch (cause) {
    if (!(cause instanceof UsageError)) throw cause;
    io.err(`duologue parse: ${cause.message}\n(see duologue parse --help)\n`);
    return EXIT_USAGE;
  }
};
