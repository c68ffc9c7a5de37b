import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const outside = ['react', '@ai-sdk/react', 'ai'];
const program = ['client', 'react']
  .map((layer) => `export * from '${root}src/${layer}/index.ts';`)
  .join('\n');

test('client and hooks together are at most 18 kB, without the SDK, and bring nothing else along', async () => {
  const built = await build({
    root,
    configFile: false,
    logLevel: 'error',
    plugins: [
      {
        name: 'program',
        enforce: 'pre',
        resolveId: (id) => (id.endsWith('program') ? '\0program' : null),
        load: (id) => (id === '\0program' ? program : null),
      },
    ],
    build: {
      write: false,
      rollupOptions: {
        input: 'program',
        external: outside,
        preserveEntrySignatures: 'strict',
        output: { format: 'es' },
      },
    },
  });
  const output = (Array.isArray(built) ? built : 'output' in built ? [built] : []).flatMap(
    (one) => one.output,
  );
  const chunks = output.flatMap((one) => (one.type === 'chunk' ? [one] : []));
  const modules = chunks
    .flatMap((chunk) => Object.keys(chunk.modules))
    .filter((path) => path !== '\0program')
    .map((path) => path.slice(root.length));
  expect(modules).toEqual(expect.arrayContaining(['src/client/transport.ts', 'src/react/use-duologue.ts']));
  expect(modules.filter((path) => !/^src\/(?:client|react|protocol)\//.test(path))).toEqual([]);
  const size = chunks.reduce((sum, { code }) => sum + gzipSync(code).length, 0);
  expect(size).toBeGreaterThan(5_000);
  expect(size).toBeLessThanOrEqual(18_000);
});
