import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stage } from './support/browser.ts';
import { Person } from './support/person.ts';
import { DemoServer } from './support/server.ts';
import { violationsInBothSchemes } from './support/violations.ts';

const here = stage();

/** The time between two requests of a flood, in milliseconds: the clock gives back two requests a second, and the rest of the CPU is for the page. */
const FLOOD_MS = 20;

/**
 * Uses up what the server takes from one person, and goes on until that is ended: what the clock gives back is gone at once. Not from the page, which may be slower than the
 * clock.
 */
async function flood(): Promise<() => Promise<unknown>> {
  let isOver = false;
  const post = async () => {
    const response = await fetch(`${here.server.url}/sessions/none/stop`, { method: 'POST' });
    await response.text();
    return response.status;
  };
  while ((await post()) !== 429);
  const posting = (async () => {
    while (!isOver) {
      await post();
      await new Promise((resolve) => setTimeout(resolve, FLOOD_MS));
    }
  })();
  // Told of when it is ended.
  posting.catch(() => undefined);
  const end = () => {
    isOver = true;
    return posting;
  };
  here.after(end);
  return end;
}

/** Says something that is refused. What slips through the flood is said again: the clock gives back two a second. */
async function sayTooFast(person: Person, text: string): Promise<void> {
  const card = person.page.getByTestId('error-card').getByText('Too many requests', { exact: true });
  for (let i = 0; i < 5; i++) {
    const answer = person.answers.nth(await person.answers.count());
    await person.say(text);
    await card.or(answer).first().waitFor();
    if (await card.isVisible()) return;
    await expect.poll(() => person.isBusy()).toBe(false);
  }
  throw new Error('Everything slipped through.');
}

/** Tries again until this is seen: what the flood took last may be missing once more. */
async function tryAgain({ page }: Person, seen: Locator): Promise<void> {
  const button = page.getByTestId('error-card').getByRole('button', { name: 'Try again', exact: true });
  const press = async () => {
    if ((await button.count()) > 0) await button.click({ timeout: 5_000 }).catch(() => undefined);
    return seen.isVisible();
  };
  await expect.poll(press, { interval: 300 }).toBe(true);
}

describe('when something goes wrong the page', () => {
  it.each(['sse', 'bidi'] as const)(
    'says that a server is gone, and sends what was said when it is back, over %s',
    async (mode) => {
      const server = await new DemoServer().start();
      here.after(() => server.dispose());
      const person = new Person(await here.open({ mode, url: server.url }));
      await person.box.waitFor();
      await server.stop();
      await person.say('What is the weather in Tokyo?');
      await person.connection('reconnecting').waitFor();
      await person.page.getByText('Messages are sent when the connection is back.').waitFor();
      await server.start();
      await person.answers.getByText(/Tokyo/).last().waitFor();
      expect([await person.own.count(), await person.answers.count()]).toEqual([1, 1]);
      expect(await person.page.getByTestId('error-card').count()).toBe(0);
    },
  );

  it('keeps an open card when the server dies and comes back, over BIDI', async () => {
    const server = await new DemoServer({ DUOLOGUE_APPROVAL_TIMEOUT_MS: '120000' }).start();
    here.after(() => server.dispose());
    const person = new Person(await here.open({ mode: 'bidi', url: server.url }));
    await person.say('Send $50 to Alice');
    await person.card('requested').waitFor();
    await server.stop('SIGKILL');
    await person.connection('reconnecting').waitFor();
    await person.page.getByText('Connection lost.').waitFor();
    await server.start();
    await person.connection('live').waitFor();
    await person.approve();
    await person.card('done').waitFor();
    await person.answers.getByText('I sent $50 to Alice.').waitFor();
  });

  it('sends what is written after a message that was refused, which can be tried again, over bidi', async () => {
    const person = new Person(await here.open({ mode: 'bidi' }));
    await person.say('What is the weather in Tokyo?');
    await person.answers.getByText(/Tokyo/).last().waitFor();
    await expect.poll(() => person.isBusy()).toBe(false);
    const endFlood = await flood();
    await sayTooFast(person, 'What is the weather in Berlin?');
    await endFlood();
    const refused = person.own.filter({ hasText: 'Berlin' }).last();
    await person.say('What is the weather in Madrid?');
    await tryAgain(person, person.answers.getByText(/Madrid/).last());
    await expect.poll(() => person.isBusy()).toBe(false);
    await refused.getByText('No answer.').waitFor();
    await refused.getByRole('button', { name: 'Try again' }).click();
    await person.answers
      .last()
      .getByText(/Berlin/)
      .last()
      .waitFor();
    expect(await person.own.count()).toBe(await person.answers.count());
    expect(await person.page.getByTestId('error-card').count()).toBe(0);
  });

  it('says how long to wait when it went too fast', async () => {
    const person = new Person(await here.open({ mode: 'sse' }));
    await person.box.waitFor();
    const endFlood = await flood();
    await sayTooFast(person, 'What is the weather in Tokyo?');
    const card = person.page.getByTestId('error-card');
    await endFlood();
    await card.getByText('Details').click();
    await card.getByText(/rate_limited: Too many requests/).waitFor();
    // The button opens by itself when the time is over.
    await tryAgain(person, person.answers.getByText(/Tokyo/).last());
  });

  it.each(['sse', 'bidi'] as const)(
    'says that a conversation does not exist, and offers a new one, over %s',
    async (mode) => {
      const person = new Person(await here.open({ mode, url: `${here.server.url}/?session=chat_unknown` }));
      const { page } = person;
      await page.getByText('This conversation was deleted').waitFor();
      await page.getByRole('main').getByRole('button', { name: 'New conversation' }).click();
      await page.getByText('What can I do for you?').waitFor();
      await expect.poll(() => new URL(page.url()).search).toBe('');
      await person.say('What is the weather in Tokyo?');
      await person.answers.getByText(/Tokyo/).last().waitFor();
    },
  );

  it.each(['sse', 'bidi'] as const)(
    'says in plain words, and once, that a message is too long, over %s',
    async (mode) => {
      const person = new Person(await here.open({ mode }));
      await person.say('x'.repeat(100_001));
      const card = person.page.getByTestId('error-card');
      await card.getByText('Too large').waitFor();
      expect(await card.count()).toBe(1);
      expect(await card.getByRole('button', { name: 'Try again' }).count()).toBe(0);
      await person.say('What is the weather in Tokyo?');
      await person.answers.getByText(/Tokyo/).last().waitFor();
      expect(await card.count()).toBe(0);
    },
  );
});

describe('a server with a key', () => {
  const locked = new DemoServer({ DUOLOGUE_API_KEY: 'correct horse' });
  beforeAll(() => locked.start());
  afterAll(() => locked.dispose());

  it('is entered with the key, and with no other', async () => {
    const person = new Person(await here.open({ url: locked.url }));
    const { page } = person;
    await page.getByLabel('Key').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Wrong key').waitFor();
    expect(await violationsInBothSchemes(page)).toEqual([]);
    await page.getByLabel('Key').fill('correct horse');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await person.say('What is the weather in Tokyo?');
    await person.answers.getByText(/Tokyo/).last().waitFor();
  });
});
