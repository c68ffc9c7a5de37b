import process from 'node:process';
import { type DenoHandler, duologueDeno } from 'duologue/server/deno';
import { frameworkApp } from './framework-app.ts';

/** The part of Deno that this program uses. */
declare const Deno: {
  serve(
    options: { port: number; hostname: string; onListen(address: { port: number }): void },
    handler: DenoHandler,
  ): unknown;
};

const { duologue, answer } = frameworkApp();
Deno.serve(
  { port: 0, hostname: '127.0.0.1', onListen: ({ port }) => process.stdout.write(`listening on ${port}\n`) },
  duologueDeno(duologue, ({ url }) => {
    const own = answer(new URL(url).pathname);
    return new Response(own ?? 'no such page', { status: own === null ? 404 : 200 });
  }),
);
