import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import type { Carrier, Helper, Setup } from '../plain/page.ts';
import { root } from './built.ts';
import { plainStage } from './plain.ts';

/** How it goes: it works; an answer never leaves; or all is done, and then one send too many is refused. */
type Outcome = 'yes' | 'no' | 'error';

interface Cell {
  name: string;
  setup: Setup;
  tool: string;
  acts: Act[];
  outcome: Outcome;
}

type Act = 'decide' | 'give';

const KINDS: Readonly<Record<string, { tool: string; acts: Act[]; executors: boolean }>> = {
  server: { tool: 'get_weather', acts: [], executors: false },
  'server, asks': { tool: 'process_payment', acts: ['decide'], executors: false },
  browser: { tool: 'change_bgm', acts: ['give'], executors: false },
  'browser, asks': { tool: 'get_location', acts: ['decide', 'give'], executors: false },
  'browser, executor': { tool: 'change_bgm', acts: [], executors: true },
  'browser, asks, executor': { tool: 'get_location', acts: ['decide'], executors: true },
};

/** The table of the document, cell by cell. */
function cells(): Cell[] {
  const lines = readFileSync(resolve(root, 'docs/auto-submit.md'), 'utf8').split('\n');
  const first = lines.findIndex((line) => line.startsWith('| helper | transport |'));
  const table = lines.slice(first, lines.indexOf('', first)).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((word) => word.trim().replaceAll('`', '')),
  );
  const [[, , ...kinds] = [], , ...rows] = table;
  return rows.flatMap(([helper = '', carrier = '', ...outcomes]) =>
    outcomes.flatMap((outcome, index) => {
      const kind = KINDS[kinds[index] ?? ''];
      if (outcome === '–') return [];
      if (!kind) throw new Error(`There is no kind of tool "${kinds[index]}".`);
      const { tool, acts, executors } = kind;
      const setup = { helper: helper as Helper, carrier: carrier as Carrier, executors };
      return {
        name: `${helper}, ${carrier}, ${kinds[index]}`,
        setup,
        tool,
        acts,
        outcome: outcome as Outcome,
      };
    }),
  );
}

const atRest = (page: Page) => page.waitForFunction(() => window.plain.isAtRest);

async function act(page: Page, what: Act): Promise<void> {
  if (what === 'decide') await page.evaluate(() => window.plain.decide(true));
  else await page.evaluate(() => window.plain.give('given'));
  await atRest(page);
}

async function outcomeOf(page: Page): Promise<Outcome> {
  const { error, texts } = await page.evaluate(() => ({
    error: window.plain.error,
    texts: window.plain.texts,
  }));
  if (error !== null) expect(error).toMatch(/answers no call that is open/);
  if (!texts.includes('Done.')) return 'no';
  return error === null ? 'yes' : 'error';
}

/** Checks every cell of the table with a page that is built with this version of the AI SDK. */
export function keepsTheTable(sdk: 'ai 7' | 'ai 6'): void {
  const stage = plainStage(sdk);

  it.each(cells().map((cell) => [`${cell.name}: ${cell.outcome}`, cell] as const))(
    'keeps the table: %s',
    async (_name, { setup, tool, acts, outcome }) => {
      const page = await stage.open(setup);
      await page.evaluate((word) => window.plain.say(word), tool);
      for (const one of acts) await act(page, one);
      expect(await outcomeOf(page)).toBe(outcome);
      expect(await page.evaluate(() => window.plain.sends)).toBeLessThanOrEqual(acts.length + 3);
    },
  );

  const ours = ['DuologueTransport', 'DuologueSseTransport'] as const;

  it.each(ours)(
    'an output that is given together with the approval stays on the screen, with %s',
    async (carrier) => {
      const page = await stage.open({ helper: 'approval', carrier, executors: false });
      await page.evaluate(() => window.plain.say('get_location'));
      await page.evaluate(() => window.plain.approveAndGive('here'));
      await atRest(page);
      const shown = await page.evaluate(() => window.plain.calls);
      expect(shown).toMatchObject([{ state: 'output-available', output: 'here' }]);
      expect(await page.evaluate(() => window.plain.sends)).toBe(2);
    },
  );

  it.each(ours)(
    'an output that is given together with the approval is sent by both helpers, with %s',
    async (carrier) => {
      const page = await stage.open({ helper: 'both', carrier, executors: false });
      await page.evaluate(() => window.plain.say('get_location'));
      await page.evaluate(() => window.plain.approveAndGive('here'));
      await page.waitForFunction(() => window.plain.isAtRest && window.plain.texts.includes('Done.'));
      expect(await page.evaluate(() => window.plain.calls)).toMatchObject([{ output: 'here' }]);
    },
  );

  it.each(['approval', 'both'] as const)(
    "[T19] over the SDK's own transport an output given in the same tick as the approval is taken off the screen, with the helper %s",
    async (helper) => {
      const page = await stage.open({ helper, carrier: 'DefaultChatTransport', executors: false });
      await page.evaluate(() => window.plain.say('get_location'));
      await page.evaluate(() => window.plain.approveAndGive('here'));
      await atRest(page);
      const [call] = await page.evaluate(() => window.plain.calls);
      expect([call?.state, call?.output, call?.approval?.approved]).toEqual([
        'input-available',
        undefined,
        true,
      ]);
      expect(await page.evaluate(() => [window.plain.sends, window.plain.error])).toEqual([2, null]);
      // Given when the response has ended, it stays, and both helpers send it.
      await act(page, 'give');
      expect(await page.evaluate(() => window.plain.calls)).toMatchObject([{ output: 'given' }]);
      expect(await outcomeOf(page)).toBe(helper === 'both' ? 'yes' : 'no');
    },
  );

  it.each(ours)('an approval that leaves alone is told of once in the console, with %s', async (carrier) => {
    const page = await stage.open({ helper: 'approval', carrier, executors: false });
    for (let times = 0; times < 2; times++) {
      await page.evaluate(() => window.plain.say('get_location'));
      await act(page, 'decide');
      await act(page, 'give');
    }
    const warnings = await page.evaluate(() => window.plain.warnings);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/"get_location".*executor.*resumeWhen\(transport\)/);
  });

  it.each(ours)('an output that nothing sent leaves before the next message, with %s', async (carrier) => {
    const page = await stage.open({ helper: 'approval', carrier, executors: false });
    await page.evaluate(() => window.plain.say('get_location'));
    await act(page, 'decide');
    await act(page, 'give');
    expect(await outcomeOf(page)).toBe('no');
    await page.evaluate(() => window.plain.say('hello'));
    const session = await page.evaluate(async () => {
      const response = await fetch(`/sessions/${window.plain.chatId}`);
      return (await response.json()) as { messages: { parts: { type: string; output?: unknown }[] }[] };
    });
    const parts = session.messages.flatMap((message) => message.parts);
    expect(parts.find(({ type }) => type === 'tool-get_location')).toMatchObject({ output: 'given' });
  });
}
