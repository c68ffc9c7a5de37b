import { afterAll, beforeAll, it } from 'vitest';
import { stage } from './browser.ts';
import { type Scenario, scenarios } from './fixtures.ts';
import { holdThroughClicks } from './scenario.ts';
import { DemoServer } from './server.ts';

/** The captured conversations that `npm test` holds in a browser: each tool, each end of a card and each mode is in one of them. */
const CHOSEN = [
  'change_bgm-bidi-baseline',
  'get_location-approved-sse-baseline',
  'get_location-denied-bidi-baseline',
  'get_weather-sse-baseline',
  'multiple-payments-approve-deny-bidi',
  'multiple-payments-deny-approve-sse',
  'process_payment-timeout-bidi-baseline',
];

const isChosen = ({ name }: Scenario) => CHOSEN.includes(name);

/** Registers one test for each captured conversation: the chosen ones, or all others. */
export function holdsCaptured(which: 'chosen' | 'others'): void {
  const here = stage();
  const hasty = new DemoServer({ DUOLOGUE_APPROVAL_TIMEOUT_MS: '1500' });
  const held = scenarios.filter((scenario) => isChosen(scenario) === (which === 'chosen'));
  if (held.some(expires)) {
    beforeAll(async () => void (await hasty.start()));
    afterAll(() => hasty.dispose());
  }
  it.each(held)('$name', async (scenario) => {
    await holdThroughClicks(here, scenario, expires(scenario) ? { url: hasty.url } : {});
  });
}

const expires = ({ cards }: Scenario) => cards.includes('expired');
