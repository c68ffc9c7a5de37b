/** The process of one variant: it runs the server and reports what an exchange used. `server-process.ts <server> <build>` */
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import * as adk from '@google/adk';
import type { Load } from './load.ts';
import type { Start } from './servers/start.ts';
import { Source } from './source.ts';

export type Order =
  | { type: 'begin'; load: Load; isProfiled: boolean }
  /** With a file, the profile of the exchange is written there. */
  | { type: 'end'; profile: string | null };

export type Report =
  | { type: 'listening'; port: number }
  | { type: 'begun' }
  | { type: 'ended'; cpuUs: number; rssMiB: number; emitted: Float64Array[] };

const [server = '', build = ''] = process.argv.slice(2);
const source = new Source();
const { start } = (await import(new URL(server, import.meta.url).href)) as { start: Start };
const { port } = await start({ source, adk, build });
const tell = (report: Report): void => void process.send?.(report);

const profiler = new Session();
profiler.connect();
let before = process.cpuUsage();
process.on('message', async (order: Order) => {
  if (order.type === 'begin') {
    source.begin(order.load);
    // Garbage of the previous exchange must not count for this one.
    globalThis.gc?.();
    if (order.isProfiled) {
      await profiler.post('Profiler.enable');
      await profiler.post('Profiler.start');
    }
    before = process.cpuUsage();
    tell({ type: 'begun' });
    return;
  }
  const { user, system } = process.cpuUsage(before);
  if (order.profile !== null) {
    const { profile } = await profiler.post('Profiler.stop');
    writeFileSync(order.profile, JSON.stringify(profile));
  }
  const rssMiB = process.memoryUsage.rss() / 1024 / 1024;
  tell({ type: 'ended', cpuUs: user + system, rssMiB, emitted: source.end() });
});
process.on('disconnect', () => process.exit(0));
tell({ type: 'listening', port });
