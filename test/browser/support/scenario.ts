import { expect } from 'vitest';
import type { OpenOptions, Stage } from './browser.ts';
import type { Scenario } from './fixtures.ts';
import { Person } from './person.ts';

/** The geolocation of the browser. */
export const osaka: OpenOptions = {
  permissions: ['geolocation'],
  geolocation: { latitude: 34.6937, longitude: 135.5023, accuracy: 25 },
};

/** Replays a captured conversation with clicks, and checks the outcome of each card and the final answer on the page. */
export async function holdThroughClicks(
  stage: Stage,
  scenario: Scenario,
  options: OpenOptions = {},
): Promise<Person> {
  const { mode, texts, text, cards, tools } = scenario;
  const page = await stage.open({ mode, locale: 'ja-JP', ...osaka, ...options });
  const requests: string[] = [];
  page.on('request', (request) => requests.push(`${request.method()} ${new URL(request.url()).pathname}`));
  const person = new Person(page);
  await person.say(texts);
  for (const end of cards) {
    // A card that shall expire gets no click: it may have expired already.
    if (end === 'done') await person.approve();
    else if (end === 'denied') await person.deny();
    // Checks each outcome before the next click, because the page sends each decision at once.
    await person.card(end).last().waitFor();
  }
  await person.answers.getByText(text, { exact: true }).waitFor();
  await expect.poll(() => person.statesOfCards()).toEqual(cards);
  await expect.poll(() => person.toolsDone()).toEqual(tools);
  await expect.poll(() => person.isBusy()).toBe(false);
  if (tools.includes('change_bgm')) await page.locator('[data-track="2"]').waitFor();
  expect(requests.filter((request) => request === 'POST /stream')).toHaveLength(
    mode === 'bidi' ? 0 : 1 + cards.length,
  );
  expect(await person.answers.count()).toBe(1);
  return person;
}
