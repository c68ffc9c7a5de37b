import { resolve } from 'node:path';
import { root } from '../browser/support/built.ts';
import { frameworkContract } from './support/framework-contract.ts';
import { openNext, openProcess } from './support/framework-process.ts';

const program = (name: string) => resolve(root, 'test/server/support', name);

/** Brings a runtime from the registry, if it is not there, and starts a program with it. */
async function openWith(runtime: 'bun' | 'deno', args: string[]): ReturnType<typeof openProcess> {
  const { otherRuntime } = (await import('../../scripts/lib/other-runtime.mjs' as string)) as {
    otherRuntime: (name: string) => Promise<{ ok: true; path: string } | { ok: false; output: string }>;
  };
  const brought = await otherRuntime(runtime);
  if (!brought.ok) throw new Error(brought.output);
  return openProcess(brought.path, args);
}

frameworkContract({ name: 'Bun.serve', open: () => openWith('bun', [program('bun-server.ts')]) });
frameworkContract({
  name: 'Deno.serve',
  open: () =>
    openWith('deno', ['run', '-A', '--no-check', '--node-modules-dir=manual', program('deno-server.ts')]),
});
frameworkContract({ name: 'route handlers of Next.js', hasSockets: false, open: () => openNext('route') });
