import fc from 'fast-check';
import { describe, it } from 'vitest';
import { failOnUnhandled } from '../contract/support/unhandled.ts';
import { conversations } from './support/play.ts';
import { WRITES } from './support/watched-store.ts';

failOnUnhandled();

/** The same conversations every time: untried orders belong to a search, not to a check. */
const SEEDS = [
  { seed: 1, disk: 'works', failing: [] },
  { seed: 2, disk: 'fails', failing: WRITES },
] as const;

describe.each(['turns', 'live'] as const)('with a model of the kind %s', (model) => {
  it.each(SEEDS)(
    '[B6] [B13] [C6] [C9] [C11] [R2] [R7] [T1] [T10] [T12] [C3a] anything in any order keeps the rules, on a disk that $disk',
    { timeout: 120_000 },
    async ({ seed, failing }) => {
      await fc.assert(conversations(model, 80, failing), { numRuns: 60, seed });
    },
  );
});
