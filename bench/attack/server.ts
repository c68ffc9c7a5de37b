/** A server under attack, in a process of its own: it tells its address, and on request how its event loop and its memory did. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { BaseLlm, LlmAgent, type LlmResponse } from '@google/adk';
import { serve } from '../../src/server/adapters/node.ts';
import { createDuologue } from '../../src/server/index.ts';
import { openDatabase } from '../../src/server/sqlite/database.ts';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';

class BriefModel extends BaseLlm {
  constructor() {
    super({ model: 'brief' });
  }

  async *generateContentAsync(): AsyncGenerator<LlmResponse, void> {
    yield { content: { role: 'model', parts: [{ text: 'Seen.' }] } };
  }

  connect(): never {
    throw new Error('Not live.');
  }
}

/** One session with very many audit lines. */
async function fill(): Promise<void> {
  await (await openSqliteStore(folder)).close();
  const db = await openDatabase(join(folder, 'duologue.db'));
  db.exec(`
    insert into audit_lines (app, user, session_id, at, kind, approval_id, tool_call_id, reason)
      with recursive counted (i) as (select 1 union all select i + 1 from counted where i < 500000)
      select 'duologue', 'mallory', 'long', 1000, 'refused', 'approval_' || i, 'call_' || i, 'no such approval' from counted
  `);
  db.close();
}

const folder = mkdtempSync(join(tmpdir(), 'duologue-attack-'));
await fill();
const store = await openSqliteStore(folder);
const key = { app: 'duologue', user: 'mallory', id: 'long', fence: 0 };
await store.createSession(key, {});
for (let n = 0; n < 20; n++) {
  const parts = [{ type: 'text' as const, text: `${n} ${'word '.repeat(10_000)}` }];
  await store.putMessage(key, { id: `m${n}`, role: 'user', parts });
}
const duologue = createDuologue({
  agent: new LlmAgent({ name: 'assistant', model: new BriefModel() }),
  store,
  authenticate: (request) => request.headers.get('x-user'),
});
const { url } = await serve(duologue, { port: 0, host: '127.0.0.1', quiet: true });
const delay = monitorEventLoopDelay({ resolution: 5 });
let rss = 0;
let began = { cpu: process.cpuUsage(), at: performance.now() };
const watch = setInterval(() => {
  rss = Math.max(rss, process.memoryUsage.rss());
}, 20);

process.on('message', (word) => {
  if (word === 'begin') {
    began = { cpu: process.cpuUsage(), at: performance.now() };
    delay.reset();
    delay.enable();
    rss = process.memoryUsage.rss();
    process.send?.({ begun: rss });
    return;
  }
  const { user, system } = process.cpuUsage(began.cpu);
  const cores = (user + system) / 1000 / (performance.now() - began.at);
  process.send?.({ p99: delay.percentile(99) / 1e6, longest: delay.max / 1e6, rss, cores });
});
process.on('disconnect', () => {
  clearInterval(watch);
  rmSync(folder, { recursive: true, force: true });
  process.exit();
});
process.send?.({ url });
