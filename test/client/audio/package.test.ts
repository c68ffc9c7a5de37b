import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { describe, expect, test } from 'vitest';

const src = new URL('../../../src/client/audio/', import.meta.url);
const WORKLETS = ['pcm-player-processor.ts', 'pcm-recorder-processor.ts'];
const LIMIT_BYTES = 6 * 1024;

async function zipped(file: string): Promise<number> {
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    build: {
      write: false,
      minify: true,
      rolldownOptions: { input: new URL(file, src).pathname, preserveEntrySignatures: 'strict' },
    },
  });
  const [chunk] = [built].flat().flatMap((result) => ('output' in result ? result.output : []));
  return gzipSync(chunk !== undefined && 'code' in chunk ? chunk.code : '', { level: 9 }).length;
}

describe('sound in the browser as a package', () => {
  test.each(WORKLETS)('%s is one file that imports nothing, for any server and any bundler', (file) => {
    expect(readFileSync(new URL(file, src), 'utf8')).not.toMatch(/^import |\bimport\(|\bfrom '/m);
  });

  test(`is at most ${LIMIT_BYTES} bytes with its worklets, minified and gzipped`, async () => {
    const sizes = await Promise.all(['index.ts', ...WORKLETS].map(zipped));
    expect(Math.min(...sizes)).toBeGreaterThan(500);
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(LIMIT_BYTES);
  });
});
