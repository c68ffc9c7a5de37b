import { test } from 'vitest';
import { expectMirrored, stories } from './support/watched.ts';

test.each(stories)('%s, played over %s and watched over %s', async (_name, player, watcher, scenario) => {
  await expectMirrored(scenario, player, watcher);
});
