import { it } from 'vitest';
import { failOnUnhandled } from '../contract/support/unhandled.ts';
import { playAnything } from './support/anything.ts';

failOnUnhandled();

it(
  '[C6] [C9] [T12] anything, in any order, for long, keeps to the grammar, settles every call once, and always comes to rest',
  { timeout: 900_000 },
  () => playAnything(300, Number(process.env.DUOLOGUE_SEED ?? 2)),
);
