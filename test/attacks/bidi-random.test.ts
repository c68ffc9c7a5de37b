import { it } from 'vitest';
import { failOnUnhandled } from '../contract/support/unhandled.ts';
import { playAnything } from './support/anything.ts';

failOnUnhandled();

it(
  '[C6] [C9] [T12] anything, in any order, keeps to the grammar, settles every call once, and always comes to rest',
  { timeout: 300_000 },
  () => playAnything(50, 1),
);
