import type { Locator, Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { stage } from './support/browser.ts';
import { Person } from './support/person.ts';

const here = stage();
const modes = ['sse', 'bidi'] as const;

const texts = (count: number) => Array.from({ length: count }, (_, n) => `This is message ${n}.`);

beforeAll(async () => {
  await here.server.stop();
  await here.server.store({
    'click-sse': texts(240),
    'click-bidi': texts(240),
    'scroll-sse': texts(240),
    'scroll-bidi': texts(240),
    failing: texts(120),
    japanese: texts(120),
  });
  await here.server.start();
});

async function open(id: string, mode: 'sse' | 'bidi', locale = 'en-US') {
  const page = await here.open({ mode, locale, url: `${here.server.url}/?session=${id}` });
  return { page, person: new Person(page) };
}

const earlier = (page: Page) => page.getByRole('button', { name: 'Show earlier messages' });
const list = (page: Page) => page.locator('[data-conversation]');
const shown = (page: Page) =>
  page.locator('[data-testid="message-assistant"], [data-testid="message-user"]').count();
/** Clicks a button without scrolling to it, which would load messages by itself. */
const click = (button: Locator) => button.dispatchEvent('click');
/** Where something stands in the window. */
const top = (place: Locator) => place.evaluate((one) => Math.round(one.getBoundingClientRect().top));

it.each(modes)(
  'a long conversation opens at its end, and shows earlier messages on a click, over %s',
  async (mode) => {
    const { page, person } = await open(`click-${mode}`, mode);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).search));
    await list(page).getByText('This is message 239.').waitFor();
    await expect.poll(() => shown(page)).toBe(100);
    // The name of the conversation is not taken from its newest page.
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('New conversation');
    await click(earlier(page));
    await list(page).getByText('This is message 40.').waitFor({ state: 'attached' });
    await expect.poll(() => shown(page)).toBe(200);
    await click(earlier(page));
    await list(page).getByText('This is message 0.').waitFor({ state: 'attached' });
    expect(await shown(page)).toBe(240);
    expect(await earlier(page).count()).toBe(0);
    await expect.poll(() => page.getByRole('heading', { level: 1 }).innerText()).toBe('This is message 0.');
    expect(asked.filter((search) => search.startsWith('?before='))).toEqual([
      `?before=click-${mode}-140`,
      `?before=click-${mode}-40`,
    ]);
    await person.say('Hello');
    await expect.poll(() => person.answers.count()).toBe(121);
    await page.reload();
    await list(page).getByText('This is message 239.').waitFor();
    await expect.poll(() => shown(page)).toBe(100);
    await earlier(page).waitFor({ state: 'attached' });
  },
);

it.each(modes)(
  'scrolling up loads earlier messages, and what is read stays in its place, over %s',
  async (mode) => {
    const { page } = await open(`scroll-${mode}`, mode);
    const first = list(page).getByText('This is message 140.');
    await list(page).getByText('This is message 239.').waitFor();
    await list(page).hover();
    await list(page).evaluate((box) => {
      box.scrollTop = 30;
    });
    const place = await top(first);
    await list(page).getByText('This is message 40.').waitFor({ state: 'attached' });
    await expect.poll(() => shown(page)).toBe(200);
    await expect.poll(async () => Math.abs((await top(first)) - place)).toBeLessThanOrEqual(2);
    // It is not at its end, and nothing more is loaded before the person scrolls on.
    await page.getByRole('button', { name: 'Latest' }).waitFor();
    expect(await shown(page)).toBe(200);
  },
);

it('a page that cannot be loaded is said so, and a click tries again', async () => {
  const { page } = await open('failing', 'bidi');
  await list(page).getByText('This is message 119.').waitFor();
  await page.route(/\?before=/, (route) => route.abort(), { times: 1 });
  await click(earlier(page));
  const again = page.getByRole('button', { name: 'The earlier messages could not be loaded. Try again' });
  await click(again);
  await list(page).getByText('This is message 0.').waitFor({ state: 'attached' });
  expect(await shown(page)).toBe(120);
});

it('in Japanese the button says the same', async () => {
  const { page } = await open('japanese', 'sse', 'ja-JP');
  await page.getByRole('button', { name: '以前のメッセージを表示' }).dispatchEvent('click');
  await list(page).getByText('This is message 0.').waitFor({ state: 'attached' });
});
