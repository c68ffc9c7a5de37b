import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import * as entry from 'duologue/parse';
import * as cost from 'duologue/parse/cost';
import * as otel from 'duologue/parse/otel';
import * as pieces from 'duologue/parse/pieces';
import { build } from 'vite';
import { describe, expect, it } from 'vitest';

const src = new URL('../../src/parse/', import.meta.url);
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

const LIMIT_BYTES = 14.5 * 1024;

describe('the parser as a package', () => {
  it.each(files)('%s imports nothing from outside its folder', (name) => {
    const text = readFileSync(new URL(name, src), 'utf8');
    const imported = [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] ?? '');
    const outside = imported.filter(
      (path) => !path.startsWith('.') || !new URL(path, new URL(name, src)).href.startsWith(src.href),
    );
    expect([...new Set(outside)]).toEqual(name === 'cost.ts' ? ['@pydantic/genai-prices'] : []);
  });

  it('has these exports and no others', () => {
    expect(Object.keys(entry).sort()).toEqual([
      'createAccumulator',
      'parse',
      'parseBatch',
      'parseProviderResponse',
      'parseStream',
      'toFlat',
    ]);
    expect(Object.keys(cost).sort()).toEqual(['costOf', 'createPricer']);
    expect(Object.keys(otel).sort()).toEqual(['otelAttributes', 'otelMessages']);
    expect(Object.keys(pieces).sort()).toEqual(['detect', 'finishOf', 'usageOf']);
  });

  it(`is at most ${LIMIT_BYTES} bytes, minified and gzipped`, async () => {
    const built = await build({
      configFile: false,
      logLevel: 'silent',
      build: {
        write: false,
        minify: true,
        rolldownOptions: { input: new URL('index.ts', src).pathname, preserveEntrySignatures: 'strict' },
      },
    });
    const chunks = [built].flat().flatMap((result) => ('output' in result ? result.output : []));
    const [chunk] = chunks;
    expect(chunks).toHaveLength(1);
    const code = chunk !== undefined && 'code' in chunk ? chunk.code : '';
    expect(code).toContain('parseProviderResponse');
    expect(gzipSync(code, { level: 9 }).length).toBeLessThanOrEqual(LIMIT_BYTES);
  });

  it('runs without Node: it names no Node global', () => {
    for (const name of files) {
      expect(readFileSync(new URL(name, src), 'utf8'), name).not.toMatch(
        /\b(process|Buffer|require|__dirname)\b[.(]/,
      );
    }
  });
});
