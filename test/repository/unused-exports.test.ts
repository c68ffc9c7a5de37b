import { expect, test } from 'vitest';
import { unusedExports } from './support/public-api.ts';

test('every public export is used by a program, a benchmark or a document, or needed by the signature of one that is', async () => {
  await expect(`${unusedExports().join('\n')}\n`).toMatchFileSnapshot('unused-exports.txt');
});
