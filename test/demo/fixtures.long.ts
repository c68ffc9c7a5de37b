import { expect, it } from 'vitest';
import { capturedByNewBackends } from './support/new-capture.ts';

it('two captures of the fixtures are the same, with what the servers stored', {
  timeout: 300_000,
}, async () => {
  expect(await capturedByNewBackends()).toEqual(await capturedByNewBackends());
});
