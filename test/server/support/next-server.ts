import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { duologueNext } from 'duologue/server/next';
import { attachWebSocket, nodeListener } from 'duologue/server/node';
import { root } from '../../browser/support/built.ts';
import { BASE_PATH, frameworkApp } from './framework-app.ts';

/** Next.js, as far as it is used here: its own types would change those of Node in the whole repository. */
type Next = (options: { dev: boolean; httpServer: Server; dir: string }) => {
  prepare(): Promise<void>;
  getRequestHandler(): NonNullable<Parameters<typeof nodeListener>[1]>;
};
const next = createRequire(import.meta.url)('next') as Next;

/** `node next-server.ts custom`: a custom server of Next.js, with both transports. `route`: route handlers alone. */
const isCustom = process.argv[2] === 'custom';

// Inside the repository, so that the packages are found; nothing of it is committed.
const folder = resolve(root, `.cache/next-server-${process.pid}`);
const text = `export const GET = () => new Response('hello');`;
const files: Record<string, string> = {
  'package.json': JSON.stringify({ name: 'site', private: true, type: 'module' }),
  // Next.js would take that of the repository otherwise.
  'jsconfig.json': '{}',
  'next.config.mjs': `export default { outputFileTracingRoot: ${JSON.stringify(root)} };`,
  'app/layout.jsx': 'export default ({ children }) => <html lang="en"><body>{children}</body></html>;',
  'app/page.jsx': 'export default () => <main>Site</main>;',
  'app/hello/route.js': text,
  [`app${BASE_PATH}/hello/route.js`]: text,
};
// Next.js ends the sockets of a path that one of its routes matches, so a custom server has no such route.
if (!isCustom) {
  // The application is that of this process, so that a test can let its model go on.
  files[`app${BASE_PATH}/[...path]/route.js`] = `const { handlers } = globalThis;
    export const GET = (request) => handlers.GET(request);
    export const POST = (request) => handlers.POST(request);`;
}
for (const [name, content] of Object.entries(files)) {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), content);
}
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
process.on('SIGTERM', () => process.exit(0));

const { duologue, answer } = frameworkApp();
Object.assign(globalThis, { handlers: duologueNext(duologue) });
const server = createServer();
const site = next({ dev: true, httpServer: server, dir: folder });
await site.prepare();
const pages = site.getRequestHandler();
const own: ReturnType<ReturnType<Next>['getRequestHandler']> = (request, response) => {
  // The paths `/go/…` let the model go on; the rest is that of Next.js.
  const texts = request.url?.startsWith('/go/') ? answer(request.url) : null;
  if (texts !== null) response.end(texts);
  else pages(request, response);
};
if (isCustom) {
  server.on('request', nodeListener(duologue, own));
  attachWebSocket(server, duologue);
} else {
  server.on('request', own);
}
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening on ${(server.address() as AddressInfo).port}\n`);
});
