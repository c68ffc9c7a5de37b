import { test } from 'vitest';
import { expectMirrored, stories } from './support/watched.ts';

/** Those in which most happens; the long tests play all. */
const SOME = [
  'text, a tool, text, a card, text',
  'two cards, approved and denied',
  'a browser tool that asks, run by the transport',
  'a picture in',
];

test.each(stories.filter(([name]) => SOME.includes(name)))(
  '[B32] [S20] after every step two pages show the same: %s, played over %s and watched over %s',
  async (_name, player, watcher, scenario) => {
    await expectMirrored(scenario, player, watcher);
  },
);
