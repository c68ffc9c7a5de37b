import config from './vitest.config.ts';

/** What takes long by its nature: every place instead of some, thousands instead of hundreds. */
export default { ...config, test: { ...config.test, include: ['test/**/*.long.ts'] } };
