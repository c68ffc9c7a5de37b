import { describe } from 'vitest';
import { breakTheLine } from './support/drops.ts';

describe('a line that breaks once, anywhere', () => breakTheLine((places) => places));
