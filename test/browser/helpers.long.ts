import { describe } from 'vitest';
import { keepsTheTable } from './support/stock-page.ts';

describe('a stock page with ai 6', () => keepsTheTable('ai 6'));
