import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
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

/** Small files that take long: they would start last, because vitest starts large files first, and the other workers would have nothing left to do. */
const SLOW = [
  ...['repository/packaging', 'browser/tutorial', 'browser/voice', 'browser/connection', 'browser/scenarios'],
  ...['server/frameworks', 'transcripts/transcripts', 'contract/drops', 'conversation/conversation'],
  ...['live/gemini-killed', 'server/kill'],
].map((name) => `/test/${name}.test.ts`);

/** Starts the slow files of each group of projects before the others. */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ project, moduleId }: TestSpecification) =>
      2 * project.config.sequence.groupOrder + (SLOW.some((name) => moduleId.endsWith(name)) ? 0 : 1);
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other));
  }
}

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
    sequence: { sequencer: SlowFirst },
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
