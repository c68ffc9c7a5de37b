import { defineConfig } from 'vitest/config';
import { common } from './vitest.config.ts';

/** What takes long by its nature: every place instead of some, thousands instead of hundreds. */
export default defineConfig({
  ...common,
  test: { ...common.test, include: ['test/**/*.long.ts'], globalSetup: 'test/browser/support/global.ts' },
});
