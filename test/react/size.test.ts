import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const outside = ['react', '@ai-sdk/react', 'ai'];
const hooks = `export { useDuologue, pendingApprovals, totalUsage } from '${root}src/react/index.ts';`;
const client = `export * from '${root}src/client/index.ts';`;
const audio = `export * from '${root}src/client/audio/index.ts';`;
const voice = `export { useVoice } from '${root}src/react/index.ts';`;

/** What a page loads that uses all of this: its size, minified and zipped, and the modules in it. */
async function bundle(program: string): Promise<{ size: number; modules: string[] }> {
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
  return { size: chunks.reduce((sum, { code }) => sum + gzipSync(code).length, 0), modules };
}

test('client and hooks together are at most 20.5 kB, without the SDK, and bring nothing else along', async () => {
  const { size, modules } = await bundle(`${client}${hooks}`);
  expect(modules).toEqual(expect.arrayContaining(['src/client/transport.ts', 'src/react/use-duologue.ts']));
  expect(modules.filter((path) => !/^src\/(?:client|react|protocol)\//.test(path))).toEqual([]);
  expect(modules.filter((path) => /voice|audio/.test(path))).toEqual([]);
  expect(size).toBeGreaterThan(5_000);
  expect(size).toBeLessThanOrEqual(20_500);
});

test('a voice is at most 4 kB beside them and the sound of `duologue/client/audio`', async () => {
  const [rest, all] = await Promise.all([
    bundle(`${client}${hooks}${audio}`),
    bundle(`${client}${hooks}${audio}${voice}`),
  ]);
  expect(all.modules).toEqual(expect.arrayContaining(['src/client/voice/voice.ts']));
  expect(all.size - rest.size).toBeGreaterThan(1_000);
  expect(all.size - rest.size).toBeLessThanOrEqual(4_000);
});
