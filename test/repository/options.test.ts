import { describe, expect, test } from 'vitest';
import { optionsPage, undescribed } from '../../scripts/options/page.ts';
import { read } from './support/repository.ts';

describe('the options of createDuologue and of the transports', () => {
  test('are those of docs/options.md (npm run options writes it)', () => {
    expect(read('docs/options.md')).toBe(optionsPage());
  });

  test('have a comment each', () => {
    expect(undescribed()).toEqual([]);
  });
});
