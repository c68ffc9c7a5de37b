import { defineConfig } from 'vitest/config';
import { common } from './vitest.config.ts';

/** What needs PostgreSQL and Redis: real ones, started for the tests. */
export default defineConfig({
  ...common,
  test: {
    ...common.test,
    include: ['test/**/*.cluster.ts'],
    globalSetup: 'test/cluster/support/global.ts',
    // Most of them start processes, which takes long on a busy machine.
    testTimeout: 180_000,
  },
});
