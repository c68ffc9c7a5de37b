import { describe, it } from 'vitest';
import { stage } from './support/browser.ts';
import { scenarios } from './support/fixtures.ts';
import { holdThroughClicks } from './support/scenario.ts';

const here = stage();

describe('over SSE, through clicks, the page shows', () => {
  const held = scenarios.filter(({ mode }) => mode === 'sse');
  it.each(held)('$name', async (scenario) => {
    await holdThroughClicks(here, scenario);
  });
});
