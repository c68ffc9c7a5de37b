/** One server process, alone or as a node of a cluster. It reports its port, and on request its CPU time and its database statements. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { BaseLlm, LlmAgent, type LlmRequest, type LlmResponse, LogLevel, setLogLevel } from '@google/adk';
import pg from 'pg';
import { z } from 'zod';

/** The configuration of the process. */
export interface ServerSettings {
  build: string;
  port: number;
  /** Null: a single process with SQLite. */
  database: string | null;
  redis: string | null;
}

const settings = JSON.parse(process.argv[2] ?? '') as ServerSettings;
// The compiled package, as it is published.
const load = <T>(path: string): Promise<T> =>
  import(pathToFileURL(join(settings.build, path)).href) as Promise<T>;
const { defineTool } = await load<typeof import('../../src/adk/index.ts')>('adk/index.js');
const { createDuologue } = await load<typeof import('../../src/server/index.ts')>('server/index.js');
const { serve } = await load<typeof import('../../src/server/adapters/node.ts')>('server/adapters/node.js');
setLogLevel(LogLevel.ERROR);

/** A model that streams a number of words at a fixed interval, or calls the payment tool. */
class PacedModel extends BaseLlm {
  constructor() {
    super({ model: 'paced' });
  }

  override async *generateContentAsync(
    request: LlmRequest,
    _stream?: boolean,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    const texts = request.contents.at(-1)?.parts?.at(-1);
    if (texts?.text === 'pay') {
      yield { content: { role: 'model', parts: [{ functionCall: { name: 'pay', args: {} } }] } };
      return;
    }
    const [, count = '1', ms = '0'] = /say (\d+) every (\d+)/.exec(texts?.text ?? '') ?? [];
    let whole = '';
    const began = performance.now();
    for (let word = 1; word <= Number(count); word++) {
      await sleep(Math.max(0, began + word * Number(ms) - performance.now()));
      if (signal?.aborted) return;
      const text = `word ${word} of ${count}, said at its time; `;
      whole += text;
      yield { content: { role: 'model', parts: [{ text }] }, partial: true };
    }
    yield { content: { role: 'model', parts: [{ text: whole }] }, partial: false };
  }

  override connect(): never {
    throw new Error('This model is no live one.');
  }
}

const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  parameters: z.object({}),
  needsApproval: true,
  execute: () => ({ paid: true }),
});

/** The number of statements sent, by name. */
let asked: Record<string, number> = {};
const query = pg.Pool.prototype.query as (...args: unknown[]) => unknown;
pg.Pool.prototype.query = function counted(this: pg.Pool, ...args: unknown[]) {
  const { name = 'other' } = (args[0] ?? {}) as { name?: string };
  asked[name] = (asked[name] ?? 0) + 1;
  return query.apply(this, args);
} as typeof pg.Pool.prototype.query;

const folder = mkdtempSync(join(tmpdir(), 'duologue-bench-nodes-'));
const quiet = { info: () => undefined, warn: () => undefined, error: console.error };
const { port, database, redis } = settings;
const duologue = createDuologue({
  agent: new LlmAgent({ name: 'assistant', model: new PacedModel(), tools: [pay] }),
  rateLimit: false,
  approvalTimeoutMs: null,
  socketLimits: { connectionsPerUser: 100_000 },
  logger: quiet,
  ...(database ? await shared(database, redis) : { store: await alone() }),
});
const served = await serve(duologue, { port, host: '127.0.0.1', quiet: true });

async function alone() {
  const { openSqliteStore } =
    await load<typeof import('../../src/server/sqlite/index.ts')>('server/sqlite/index.js');
  return openSqliteStore(folder);
}

async function shared(url: string, hubUrl: string | null) {
  const { openRedisHub } =
    await load<typeof import('../../src/server/redis/index.ts')>('server/redis/index.js');
  const { openPostgresStore } =
    await load<typeof import('../../src/server/postgres/index.ts')>('server/postgres/index.js');
  return {
    store: await openPostgresStore({ url, schema: 'bench' }),
    ...(hubUrl && { hub: await openRedisHub({ url: hubUrl }) }),
    node: { address: `http://127.0.0.1:${port}` },
  };
}

let cpu = process.cpuUsage();
process.on('message', (word) => {
  if (word === 'begin') {
    cpu = process.cpuUsage();
    asked = {};
  }
  const { user, system } = process.cpuUsage(cpu);
  process.send?.({ cpuUs: user + system, asked });
});
process.on('disconnect', () => {
  served.close().finally(() => {
    rmSync(folder, { recursive: true, force: true });
    process.exit(0);
  });
});
process.send?.({ port: served.port });
