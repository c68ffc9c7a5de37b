import { afterAll, beforeAll, describe, it } from 'vitest';
import { stage } from './support/browser.ts';
import { scenarios } from './support/fixtures.ts';
import { holdThroughClicks } from './support/scenario.ts';
import { DemoServer } from './support/server.ts';

const here = stage();

describe('over BIDI, through clicks, the page shows', () => {
  const hasty = new DemoServer({ DUOLOGUE_APPROVAL_TIMEOUT_MS: '1500' });
  beforeAll(() => hasty.start());
  afterAll(() => hasty.dispose());

  const held = scenarios.filter(({ mode }) => mode === 'bidi');
  it.each(held)('$name', async (scenario) => {
    await holdThroughClicks(here, scenario, scenario.cards.includes('expired') ? { url: hasty.url } : {});
  });
});
