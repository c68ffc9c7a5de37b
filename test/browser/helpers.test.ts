import { describe } from 'vitest';
import { keepsTheTable } from './support/stock-page.ts';

describe('a stock page with ai 7', () => keepsTheTable('ai 7'));
