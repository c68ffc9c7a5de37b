import { type BunOptions, duologueBun } from 'duologue/server/bun';
import { frameworkApp } from './framework-app.ts';

/** The part of Bun that this program uses. */
declare const Bun: { serve(options: BunOptions & { port: number; hostname: string }): { port: number } };

const { duologue, answer } = frameworkApp();
const { port } = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  ...duologueBun(duologue, ({ url }) => {
    const own = answer(new URL(url).pathname);
    return new Response(own ?? 'no such page', { status: own === null ? 404 : 200 });
  }),
});
process.stdout.write(`listening on ${port}\n`);
