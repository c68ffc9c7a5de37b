import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('the client brings no validator and nothing of the SDK, and is small', async () => {
  const built = await build({
    root,
    configFile: false,
    logLevel: 'error',
    build: {
      write: false,
      rollupOptions: {
        input: `${root}src/client/index.ts`,
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
    .map((path) => path.slice(root.length));
  expect(modules).toContain('src/client/transport.ts');
  expect(modules.filter((path) => !/^src\/(?:client|protocol)\//.test(path))).toEqual([]);
  expect(modules).not.toContain('src/protocol/frames.ts');
  expect(chunks.flatMap(({ imports }) => imports)).toEqual([]);
  const size = gzipSync(chunks.map(({ code }) => code).join('')).length;
  expect(size).toBeGreaterThan(1_000);
  expect(size).toBeLessThanOrEqual(16_500);
});
