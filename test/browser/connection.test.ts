import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { FakeProvider } from '../support/providers/fake-provider.ts';
import { openaiResponses } from '../support/providers/openai-responses.ts';
import { stage } from './support/browser.ts';
import { Person } from './support/person.ts';
import { Relay } from './support/relay.ts';
import { DemoServer } from './support/server.ts';

const here = stage();
const modes = ['sse', 'bidi'] as const;
const COUNT = 'Count to 60';
const counted = Array.from({ length: 60 }, (_, index) => index + 1);

async function relayed(): Promise<Relay> {
  const relay = await new Relay(here.server.url).start();
  here.after(() => relay.dispose());
  return relay;
}

/** The numbers that the assistant has counted so far. */
async function numbers(person: Person): Promise<number[]> {
  return (
    (await person.answers.last().locator('[data-text]').innerText()).match(/\b\d+\b/g)?.map(Number) ?? []
  );
}

/** Waits until the whole count is there, every number once and in order. */
async function sawAll(person: Person): Promise<void> {
  await expect.poll(async () => (await numbers(person)).slice(0, 60)).toEqual(counted);
  expect(await person.answers.count()).toBe(1);
}

/** Holds what the server says in the middle of the count, so that nothing has to be quicker than the answer. */
function inTheMiddle(relay: Relay): Promise<void> {
  return relay.hold('"30 "');
}

/** Counts from the next load of the page on how often a change of the page shows a text, also for a moment. The returned function reads the count. */
async function seen(page: Page, text: string): Promise<() => Promise<number>> {
  await page.addInitScript((looked) => {
    const times = () => Number(sessionStorage.getItem('seen') ?? '0');
    sessionStorage.setItem('seen', String(times()));
    const look = () => {
      if (document.body?.textContent.includes(looked)) sessionStorage.setItem('seen', String(times() + 1));
    };
    new MutationObserver(look).observe(document, { subtree: true, childList: true, characterData: true });
  }, text);
  return () => page.evaluate(() => Number(sessionStorage.getItem('seen') ?? 'NaN'));
}

async function began(person: Person): Promise<void> {
  await expect
    .poll(async () => ((await person.answers.count()) > 0 ? (await numbers(person)).length : 0))
    .toBeGreaterThan(3);
}

describe('a conversation', () => {
  it('goes on in the other mode, with its history, there and back', async () => {
    const person = new Person(await here.open({ mode: 'sse' }));
    await person.say('Send $30 to Alice');
    await person.card('requested').waitFor();
    await person.chooseMode('BIDI');
    await person.connection('live').waitFor();
    await expect.poll(() => person.statesOfCards()).toEqual(['requested']);
    await person.approve();
    await person.card('done').waitFor();
    await person.answers.getByText('I sent $30 to Alice.').waitFor();
    await person.say('What is the weather in Tokyo?');
    await person.answers.nth(1).getByText(/Tokyo/).last().waitFor();
    await expect.poll(() => person.isBusy()).toBe(false);
    await person.chooseMode('SSE');
    await person.say('Play track 2');
    await person.page.locator('[data-track="2"]').waitFor();
    await person.answers.nth(2).waitFor();
    expect(await person.own.count()).toBe(3);
  });

  it.each([
    ['sse', 'bidi', 'Live (WebSocket)'],
    ['bidi', 'sse', 'Standard (SSE)'],
  ] as const)(
    'says at once that the other mode begins after this answer, and begins it then, from %s to %s',
    async (mode, other, name) => {
      const relay = await relayed();
      const person = new Person(await here.open({ mode, url: relay.url }));
      const middle = inTheMiddle(relay);
      await person.say(COUNT);
      await middle;
      await began(person);
      const badge = person.page.getByTestId('connection');
      await person.pickMode(other);
      await badge.getByText(`${name}, after this answer`).waitFor();
      expect(await person.page.locator('[data-mode]').getAttribute('data-mode')).toBe(mode);
      relay.release();
      await sawAll(person);
      await person.page.locator(`[data-mode="${other}"]`).waitFor();
      await expect.poll(() => badge.innerText()).toBe(name);
    },
  );

  it.each(modes)('is whole after a reload in mid-answer, over %s', async (mode) => {
    const relay = await relayed();
    const person = new Person(await here.open({ mode, url: relay.url }));
    // One tab is open, so no moment of the reload may speak of another.
    const notes = await seen(person.page, 'You see it live');
    const middle = inTheMiddle(relay);
    await person.say(COUNT);
    await middle;
    await began(person);
    await person.page.reload();
    await sawAll(person);
    expect(await person.own.count()).toBe(1);
    expect(await notes()).toBe(0);
  });

  it.each(modes)('keeps an open card over a reload, over %s', async (mode) => {
    const person = new Person(await here.open({ mode }));
    await person.say('Send $50 to Alice');
    await person.card('requested').waitFor();
    await person.page.reload();
    await person.card('requested').waitFor();
    await person.approve();
    await person.card('done').waitFor();
    await person.answers.getByText('I sent $50 to Alice.').waitFor();
    expect(await person.answers.count()).toBe(1);
  });

  it.each(modes)(
    'loses nothing when the network is cut in mid-answer and comes back, over %s',
    async (mode) => {
      const relay = await relayed();
      const person = new Person(await here.open({ mode, url: relay.url }));
      const middle = inTheMiddle(relay);
      await person.say(COUNT);
      await middle;
      await began(person);
      relay.cut();
      if (mode === 'sse') await person.connection('reconnecting').waitFor();
      await person.page.context().setOffline(true);
      if (mode === 'bidi') await person.connection('offline').waitFor();
      relay.restore();
      await person.page.context().setOffline(false);
      await sawAll(person);
      if (mode === 'bidi') await person.connection('live').waitFor();
    },
  );

  it('says above the message box that the connection was lost, and what then waits for, over SSE', async () => {
    const relay = await relayed();
    const person = new Person(await here.open({ mode: 'sse', url: relay.url }));
    const middle = inTheMiddle(relay);
    await person.say(COUNT);
    await middle;
    await began(person);
    relay.cut();
    const banner = person.page.getByTestId('connection-banner');
    await banner.getByText('Connection lost.').waitFor();
    await person.say('What is the weather in Tokyo?');
    await person.page.getByText('Will be sent when the connection is back').waitFor();
    relay.restore();
    await banner.waitFor({ state: 'detached' });
    await person.answers.nth(1).getByText(/Tokyo/).last().waitFor();
  });

  it.each(modes)('sends what was written offline when it is back, once, over %s', async (mode) => {
    const relay = await relayed();
    const person = new Person(await here.open({ mode, url: relay.url }));
    await person.say('Play track 2');
    await person.page.locator('[data-track="2"]').waitFor();
    await expect.poll(() => person.isBusy()).toBe(false);
    relay.cut();
    await person.page.context().setOffline(true);
    await person.connection('offline').waitFor();
    await person.say('What is the weather in Tokyo?');
    await person.page.getByText('Will be sent when the connection is back').waitFor();
    relay.restore();
    await person.page.context().setOffline(false);
    await person.answers.nth(1).getByText(/Tokyo/).last().waitFor();
    expect(await person.own.count()).toBe(2);
    expect(await person.answers.count()).toBe(2);
  });

  it.each(modes)('sends what waited for the end of an answer, also after a reload, over %s', async (mode) => {
    const relay = await relayed();
    const person = new Person(await here.open({ mode, url: relay.url }));
    const middle = inTheMiddle(relay);
    await person.say(COUNT);
    await middle;
    await began(person);
    await person.say('Play track 2');
    await person.page.getByText('Will be sent after this answer').waitFor();
    await person.page.reload();
    await person.page.locator('[data-track="2"]').waitFor();
    await expect.poll(() => person.isBusy()).toBe(false);
    const texts = (await person.answers.first().innerText()).match(/\b\d+\b/g)?.map(Number) ?? [];
    expect(texts.slice(0, 60)).toEqual(counted);
    await person.page.reload();
    await person.answers.nth(1).waitFor();
    expect([await person.own.count(), await person.answers.count()]).toEqual([2, 2]);
  });

  it.each(modes)(
    'says “Cut off” when the server dies in mid-answer, shows no less than before, and answers again, over %s',
    async (mode) => {
      const model = await FakeProvider.start(openaiResponses);
      here.after(() => model.stop());
      const server = await new DemoServer(model.environment).start();
      here.after(() => server.dispose());
      // The question at the start is answered.
      await expect.poll(() => model.asked.length).toBe(1);
      model.faults.push('silence in the middle');
      const person = new Person(await here.open({ mode, url: server.url }));
      const { page } = person;
      await person.say('Count to 500');
      // In mid-answer until words of it are kept and shown: the model says nothing more for as long as the server has patience.
      await expect.poll(() => server.stored()).toMatch(/\b149 150 /);
      await expect.poll(async () => (await numbers(person).catch(() => [])).length).toBeGreaterThan(150);
      await person.say('Play track 2');
      await page.getByText('Will be sent after this answer').waitFor();
      await server.stop('SIGKILL');
      await page.getByTestId('connection-banner').waitFor();
      // The page cannot know whether the rest of the answer will come.
      await page.getByText('The answer continues if the server still has it.').waitFor();
      const before = await numbers(person);
      await server.start();
      const card = page.getByTestId('error-card');
      await card.getByRole('heading', { name: 'Cut off' }).waitFor();
      // What waited does not take the way to another answer away.
      await page.getByText('Waiting: the answer above was cut off.').waitFor();
      await page.getByRole('button', { name: 'Don’t send' }).click();
      // The last words may have been painted meanwhile.
      const shown = await numbers(person);
      expect(shown.slice(0, before.length)).toEqual(before);
      await page.reload();
      await card.getByRole('heading', { name: 'Cut off' }).waitFor();
      await person.answers.getByText('Cut off').waitFor();
      // All but the text of the last moment, which is as long as the disk is busy.
      const kept = await numbers(person);
      expect(kept.length).toBeGreaterThanOrEqual(150);
      expect(kept).toEqual(shown.slice(0, kept.length));
      await card.getByRole('button', { name: 'Try again' }).click();
      await sawAll(person);
      expect(await card.count()).toBe(0);
    },
  );

  it('keeps the text that was not sent, over a reload and a visit to another conversation', async () => {
    const person = new Person(await here.open());
    const { page } = person;
    await person.box.fill('not begun');
    await page.reload();
    await expect.poll(() => person.box.inputValue()).toBe('not begun');
    await person.say('What is the weather in Tokyo?');
    await person.answers.getByText(/Tokyo/).last().waitFor();
    await expect.poll(() => person.box.inputValue()).toBe('');
    await person.box.fill('to be continued');
    await page.getByRole('button', { name: 'New conversation' }).first().click();
    await expect.poll(() => person.box.inputValue()).toBe('');
    await page.goBack();
    await expect.poll(() => person.box.inputValue()).toBe('to be continued');
    await page.reload();
    await expect.poll(() => person.box.inputValue()).toBe('to be continued');
  });

  it('[B30] is shown live in two tabs, and a card that is answered in one closes in both', async () => {
    const first = new Person(await here.open({ mode: 'bidi' }));
    await first.say('What is the weather in Tokyo?');
    await first.answers.getByText(/Tokyo/).last().waitFor();
    await expect.poll(() => first.isBusy()).toBe(false);
    const second = new Person(await first.page.context().newPage());
    await second.page.goto(first.page.url());
    await second.connection('live').waitFor();
    const watching = (person: Person) => person.page.getByText(/You see it live/);
    await watching(second).waitFor();
    await second.page.getByRole('button', { name: 'Use here' }).click();
    await watching(first).waitFor();
    await watching(second).waitFor({ state: 'detached' });
    await second.say('Send $50 to Alice');
    await second.card('requested').waitFor();
    await first.card('requested').waitFor();
    await first.approve();
    await first.card('done').waitFor();
    await second.card('done').getByText('Decided on another page').waitFor();
    expect(await first.page.getByText('Decided on another page').count()).toBe(0);
  });

  it('catches up when its tab was frozen until the connection died', async () => {
    const relay = await relayed();
    const person = new Person(await here.open({ mode: 'bidi', url: relay.url }));
    await person.say(COUNT);
    await began(person);
    await freeze(person.page, true);
    // What minutes do: the server gives the silent connection up, and the answer goes on without it.
    relay.cut();
    await expect.poll(() => storedOf(person)).toContain('60');
    relay.restore();
    await freeze(person.page, false);
    await sawAll(person);
    await person.connection('live').waitFor();
  });
});

/** The conversation as the server has it. */
async function storedOf(person: Person): Promise<string> {
  const session = new URL(person.page.url()).searchParams.get('session');
  return (await fetch(`${here.server.url}/sessions/${session}`)).text();
}

async function freeze(page: Page, isFrozen: boolean): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('Page.setWebLifecycleState', { state: isFrozen ? 'frozen' : 'active' });
}
