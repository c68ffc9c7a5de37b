import { it } from 'vitest';
import { connectAndDrop } from './support/leaks.ts';

it(
  '[B23] 2,000 connect–approve–drop cycles leave handles and heap where they were',
  {
    timeout: 300_000,
  },
  () => connectAndDrop(2_000, 200),
);
