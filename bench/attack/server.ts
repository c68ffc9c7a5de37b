/** The attacked server, in its own process, on a given data folder. It reports its address, and on request its event loop delay and memory. */
import { rmSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { BaseLlm, LlmAgent, type LlmResponse } from '@google/adk';
import { serve } from '../../src/server/adapters/node.ts';
import { createDuologue } from '../../src/server/index.ts';
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

const [, , folder = ''] = process.argv;
const store = await openSqliteStore(folder);
const key = { app: 'duologue', user: 'mallory', id: 'medium', fence: 0 };
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
  const cpuMs = (user + system) / 1000;
  const cores = cpuMs / (performance.now() - began.at);
  process.send?.({ p99: delay.percentile(99) / 1e6, longest: delay.max / 1e6, rss, cores, cpuMs });
});
process.on('disconnect', () => {
  clearInterval(watch);
  rmSync(folder, { recursive: true, force: true });
  process.exit();
});
process.send?.({ url });
