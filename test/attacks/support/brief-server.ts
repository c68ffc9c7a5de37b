import { writeSync } from 'node:fs';
import { BaseLlm, LlmAgent, LogLevel, setLogLevel } from '@google/adk';
import { serve } from '../../../src/server/adapters/node.ts';
import { createDuologue } from '../../../src/server/index.ts';
import { openPostgresStore } from '../../../src/server/postgres/index.ts';
import { openSqliteStore } from '../../../src/server/sqlite/index.ts';
import { text } from '../../support/scripted-model.ts';

// What it writes is read by tests.
setLogLevel(LogLevel.ERROR);

/** A server that says one word to every message, and keeps everything in a folder, or in a schema of PostgreSQL. */
const [place = '', schema] = process.argv.slice(2);

class BriefModel extends BaseLlm {
  constructor() {
    super({ model: 'brief' });
  }

  async *generateContentAsync() {
    yield text('Seen.');
  }

  connect(): never {
    throw new Error('Not live.');
  }
}

const agent = new LlmAgent({ name: 'assistant', model: new BriefModel() });
const store = await (schema ? openPostgresStore({ url: place, schema }) : openSqliteStore(place));
const duologue = createDuologue({ agent, store, rateLimit: false, inspect: true, driver: 'turn' });
const { url } = await serve(duologue, {
  port: 0,
  host: '127.0.0.1',
  quiet: true,
});

/** Tells, when it is asked, the largest heap and the CPU time since it was asked before. */
let heap = 0;
let cpu = process.cpuUsage();
setInterval(() => {
  heap = Math.max(heap, process.memoryUsage().heapUsed);
}, 5).unref();
process.on('message', () => {
  const { user, system } = process.cpuUsage(cpu);
  process.send?.({ heapMb: Math.round(heap / 1024 / 1024), cpuMs: Math.round((user + system) / 1000) });
  heap = 0;
  cpu = process.cpuUsage();
});
process.channel?.unref();
writeSync(1, `${url}\n`);
