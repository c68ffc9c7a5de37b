import { describe } from 'vitest';
import { holdsCaptured } from './support/captured.ts';

describe('through clicks, the page shows', () => holdsCaptured('chosen'));
