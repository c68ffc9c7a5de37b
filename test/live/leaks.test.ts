import { it } from 'vitest';
import { connectAndDrop } from './support/leaks.ts';

it('[B23] 200 connect–approve–drop cycles leave handles and heap where they were', () =>
  connectAndDrop(200, 100));
