import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { build, type Manifest } from 'vite';
import { expect, test, vi } from 'vitest';

const web = fileURLToPath(new URL('..', import.meta.url));
const library = fileURLToPath(new URL('../../../src/', import.meta.url));

/** The files that the page loads at first: its entry, and everything that the entry imports statically. */
function firstFiles(manifest: Manifest, name: string, seen = new Set<string>()): Set<string> {
  const chunk = manifest[name];
  if (!chunk || seen.has(chunk.file)) return seen;
  seen.add(chunk.file);
  for (const style of chunk.css ?? []) seen.add(style);
  for (const next of chunk.imports ?? []) firstFiles(manifest, next, seen);
  return seen;
}

test('the page loads at most 185 kB at first; answers, Markdown, colours and music come when they are needed', async () => {
  // With this value the build contains React's production code.
  vi.stubEnv('NODE_ENV', 'production');
  const outDir = await mkdtemp(join(tmpdir(), 'duologue-web-'));
  try {
    await build({
      root: web,
      configFile: join(web, 'vite.config.ts'),
      logLevel: 'error',
      resolve: { alias: [{ find: /^duologue\/(\w+)$/, replacement: `${library}$1/index.ts` }] },
      build: { outDir, emptyOutDir: true },
    });
    const read = (path: string) => readFile(join(outDir, path));
    const manifest = JSON.parse(String(await read('.vite/manifest.json'))) as Manifest;
    const first = [...firstFiles(manifest, 'index.html'), 'index.html'];
    const sizes = await Promise.all(first.map(async (file) => brotliCompressSync(await read(file)).length));
    const total = sizes.reduce((sum, size) => sum + size, 0);
    expect(total).toBeGreaterThan(50_000);
    expect(total).toBeLessThanOrEqual(185_000);
    const later = Object.values(manifest).filter(({ isDynamicEntry }) => isDynamicEntry);
    expect(later.map(({ src }) => src)).toEqual(
      expect.arrayContaining([
        'src/chat/answer.tsx',
        'src/i18n/ja.ts',
        'src/markdown/highlight.tsx',
        'src/markdown/markdown.tsx',
        '../tools/music/web/score.ts',
        '../tools/music/web/sequencer.ts',
      ]),
    );
    expect(later.filter(({ file }) => first.includes(file))).toEqual([]);
  } finally {
    vi.unstubAllEnvs();
    await rm(outDir, { recursive: true });
  }
});
