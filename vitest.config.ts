import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import manifest from './package.json' with { type: 'json' };

/** Published subpaths lead to their sources, so that tests need no build. */
const alias = Object.entries(manifest.exports).flatMap(([subpath, target]) =>
  typeof target === 'string'
    ? []
    : {
        find: new RegExp(`^${subpath.replace('.', manifest.name)}$`),
        replacement: fileURLToPath(
          new URL(target.default.replace(/^\.\/dist\//, './src/').replace(/\.js$/, '.ts'), import.meta.url),
        ),
      },
);

export default defineConfig({
  resolve: { alias },
  test: {
    include: ['test/**/*.test.{ts,tsx}', 'demo/**/*.test.{ts,tsx}'],
    // One for each core: many tests wait for browsers and processes rather than compute.
    maxWorkers: Math.max(2, availableParallelism()),
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
});
