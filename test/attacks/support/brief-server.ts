import { writeSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { BaseLlm, LlmAgent, LogLevel, setLogLevel } from '@google/adk';
import { serve } from '../../../src/server/adapters/node.ts';
import { createDuologue } from '../../../src/server/index.ts';
import { openPostgresStore } from '../../../src/server/postgres/index.ts';
import { openSqliteStore } from '../../../src/server/sqlite/index.ts';
import { text } from '../../support/scripted-model.ts';

// Tests parse the output of this process.
setLogLevel(LogLevel.ERROR);

/** A server that answers every message with one word, with its store in a folder or in a PostgreSQL schema. */
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

/** Reports on request the largest heap, the CPU time and the longest event loop delay since the previous report. */
const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
let heap = 0;
let cpu = process.cpuUsage();
setInterval(() => {
  heap = Math.max(heap, process.memoryUsage().heapUsed);
}, 5).unref();
process.on('message', () => {
  const { user, system } = process.cpuUsage(cpu);
  const cpuMs = Math.round((user + system) / 1000);
  // The monitor records a delay only when its timer runs after it.
  setTimeout(() => {
    const heapMb = Math.round(Math.max(heap, process.memoryUsage().heapUsed) / 1024 / 1024);
    process.send?.({ heapMb, cpuMs, heldMs: Math.round(delay.max / 1e6) });
    delay.reset();
    heap = 0;
    cpu = process.cpuUsage();
  }, 20);
});
process.channel?.unref();
writeSync(1, `${url}\n`);
