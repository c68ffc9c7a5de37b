import { defineConfig } from 'vitest/config';
import { common } from './vitest.config.ts';

/** What needs PostgreSQL and Redis: real ones, started for the tests. */
export default defineConfig({
  ...common,
  test: {
    ...common.test,
    include: ['test/**/*.cluster.ts'],
    globalSetup: 'test/cluster/support/global.ts',
    // For what hangs, not for what is slow: most of them start processes, and one stores 300 MB.
    testTimeout: 600_000,
  },
});
