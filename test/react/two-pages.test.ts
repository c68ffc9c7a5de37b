import { test } from 'vitest';
import { expectTwoPagesAlike, ONCE_APART, PAIRS } from './support/two-pages.ts';

test.each(PAIRS)(
  '[B32] [S20] whatever two pages once came apart by, at rest both show what the server has: %s and %s',
  async (...modes) => {
    await expectTwoPagesAlike(modes, ONCE_APART.length);
  },
);
