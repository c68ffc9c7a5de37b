import { describe } from 'vitest';
import { breakTheLine, type Choice } from './support/drops.ts';

/** The first, one in the middle and the last: the long tests try them all. */
const some: Choice = (places) =>
  places.filter((_, index) => [0, Math.floor(places.length / 2), places.length - 1].includes(index));

describe('[W6] [W8] a line that breaks once, early, in the middle or late', () => breakTheLine(some));
