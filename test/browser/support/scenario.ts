import { expect } from 'vitest';
import type { OpenOptions, Stage } from './browser.ts';
import type { Scenario } from './fixtures.ts';
import { Person } from './person.ts';

/** Where the person of the scenarios is. */
export const osaka: OpenOptions = {
  permissions: ['geolocation'],
  geolocation: { latitude: 34.6937, longitude: 135.5023, accuracy: 25 },
};

/** Holds a captured conversation through clicks, and sees on the page how each card and the answer end. */
export async function holdThroughClicks(
  stage: Stage,
  scenario: Scenario,
  options: OpenOptions = {},
): Promise<Person> {
  const { mode, said, text, cards, tools } = scenario;
  const page = await stage.open({ mode, locale: 'ja-JP', ...osaka, ...options });
  const requests: string[] = [];
  page.on('request', (request) => requests.push(`${request.method()} ${new URL(request.url()).pathname}`));
  const person = new Person(page);
  await person.say(said);
  for (const end of cards) {
    // One that expires may have done so before anyone looks.
    if (end === 'done') await person.approve();
    else if (end === 'denied') await person.deny();
    // Each decision leaves at once, and counts.
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
