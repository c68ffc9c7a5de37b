import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import manifest from './package.json' with { type: 'json' };

/** In the leg of the older AI SDK its names lead to the older packages. */
const older =
  process.env.DUOLOGUE_TEST_AI === '6'
    ? [
        { find: /^ai$/, replacement: 'ai6' },
        { find: /^@ai-sdk\/react$/, replacement: 'react6' },
      ]
    : [];

/** Published subpaths lead to their sources, so that tests need no build. */
const published = Object.entries(manifest.exports).flatMap(([subpath, target]) =>
  typeof target === 'string'
    ? []
    : {
        find: new RegExp(`^${subpath.replace('.', manifest.name)}$`),
        replacement: fileURLToPath(
          new URL(target.default.replace(/^\.\/dist\//, './src/').replace(/\.js$/, '.ts'), import.meta.url),
        ),
      },
);

type Tests = NonNullable<TestProjectInlineConfiguration['test']>;

const project = (test: Tests): TestProjectInlineConfiguration => ({ extends: true, test });

/** Tests that look at their whole process: whatever another file left running there would be seen as theirs. */
const wholeProcess = ['test/server/journeys.test.ts', 'test/live/leaks.test.ts'];

/** Tests that share nothing with others but the machine. */
const elsewhere = ['test/{browser,react,repository}/**', 'test/**/*.test.tsx', ...wholeProcess];

/** What all tests have in common. */
export const common = {
  resolve: { alias: [...published, ...older] },
  test: {
    // Most tests wait for a timer, a browser or another process most of the time.
    maxWorkers: availableParallelism() + 2,
    // For what hangs, not for what is slow: a busy machine is no failure.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
  },
};

export default defineConfig({
  ...common,
  test: {
    ...common.test,
    projects: [
      project({
        name: 'library',
        include: ['test/**/*.test.ts'],
        exclude: elsewhere,
        // ADK takes more than a second to import: one process runs many files. Modules of ours are made anew for each.
        isolate: false,
        setupFiles: ['test/support/fresh-modules.ts', 'test/support/seed.ts'],
      }),
      project({ name: 'process', include: wholeProcess, sequence: { groupOrder: 1 } }),
      project({
        name: 'pages',
        include: ['test/react/**/*.test.{ts,tsx}', 'test/**/*.test.tsx', 'demo/**/*.test.{ts,tsx}'],
        setupFiles: 'test/support/seed.ts',
        sequence: { groupOrder: 1 },
      }),
      project({
        name: 'repository',
        include: ['test/repository/**/*.test.ts', 'examples/*/*.test.ts'],
        sequence: { groupOrder: 1 },
      }),
      project({
        name: 'browser',
        include: ['test/browser/**/*.test.ts'],
        globalSetup: 'test/browser/support/global.ts',
        sequence: { groupOrder: 1 },
      }),
    ],
  },
});
