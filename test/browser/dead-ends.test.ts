import { describe, expect, it, onTestFinished } from 'vitest';
import type { Carrier } from './plain/page.ts';
import { stage } from './support/browser.ts';
import { DeadEnd, type Obstacle } from './support/dead-end.ts';
import { Person } from './support/person.ts';
import { pageStage } from './support/plain.ts';

async function blocked(target: string, obstacle: Obstacle): Promise<DeadEnd> {
  const end = await new DeadEnd(target, obstacle).start();
  onTestFinished(() => end.dispose());
  return end;
}

describe('the page of the demo', () => {
  const here = stage();

  it.each([
    ['wrong mount', 'sse', 'No server at this address'],
    ['wrong mount', 'bidi', 'No server at this address'],
    ['no upgrade', 'bidi', 'Live mode can’t connect'],
  ] as const)('[E9] says it in one sentence and stops trying: %s, over %s', async (obstacle, mode, title) => {
    const end = await blocked(here.server.url, obstacle);
    const page = await here.open({ mode, url: end.url, prepare: (context) => context.clock.install() });
    const person = new Person(page);
    await person.say('Hello');
    const alert = page.getByTestId('error-card');
    await alert.getByRole('heading', { name: title }).waitFor();
    expect(await alert.count()).toBe(1);
    await person.connection('closed').waitFor();
    expect(await page.getByText('No conversations yet.').count()).toBe(0);
    const tries = () => end.refused.filter((path) => path !== '/sessions').length;
    const before = tries();
    await page.clock.runFor(120_000);
    expect(tries()).toBe(before);
  });

  it('[E9] where WebSockets do not open, the message is answered over SSE after a switch', async () => {
    const end = await blocked(here.server.url, 'no upgrade');
    const page = await here.open({ mode: 'bidi', url: end.url });
    const person = new Person(page);
    await person.say('Hello');
    await page.getByRole('heading', { name: 'Live mode can’t connect' }).waitFor();
    await person.chooseMode('SSE');
    await page.getByTestId('error-card').getByRole('button', { name: 'Try again' }).click();
    await person.answers.getByText('What would you like?').waitFor();
    expect(await page.getByTestId('error-card').count()).toBe(0);
  });

  it.each(['sse', 'bidi'] as const)(
    '[E9] asks for the key when nobody is signed in, over %s',
    async (mode) => {
      const end = await blocked(here.server.url, 'signed out');
      const page = await here.open({ mode, url: end.url });
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    },
  );
});

describe('a page with a stock useChat', () => {
  const here = pageStage('page.ts', 'ai 7');
  const NO_SERVER = /^There is no Duologue server at .*: it answered 404/;
  const cases: [Obstacle, Carrier, RegExp][] = [
    ['signed out', 'DuologueTransport', /^You are not signed in\.$/],
    ['signed out', 'DuologueSseTransport', /^You are not signed in\.$/],
    ['signed out', 'DefaultChatTransport', /Nothing here/],
    ['wrong mount', 'DuologueTransport', NO_SERVER],
    ['wrong mount', 'DuologueSseTransport', NO_SERVER],
    ['wrong mount', 'DefaultChatTransport', /Nothing here/],
    ['no upgrade', 'DuologueTransport', /answers, but no WebSocket to it can be opened\..* or use SSE\.$/],
  ];

  it.each(cases)(
    '[E9] has an error in words and sends nothing more: %s, %s',
    async (obstacle, carrier, words) => {
      const end = await blocked(here.url, obstacle);
      const page = await here.goto('', end.url);
      onTestFinished(() => page.close());
      await page.clock.install();
      await page.evaluate(
        (name) => window.plain.open({ helper: 'both', carrier: name, executors: false }),
        carrier,
      );
      void page.evaluate(() => window.plain.say('Hello'));
      await page.waitForFunction(() => window.plain.error !== null);
      expect(await page.evaluate(() => window.plain.error)).toMatch(words);
      const before = end.refused.length;
      await page.clock.runFor(120_000);
      expect(end.refused.length).toBe(before);
    },
  );
});
