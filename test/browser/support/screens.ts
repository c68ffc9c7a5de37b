import { expect } from 'vitest';
import type { OpenOptions, Stage } from './browser.ts';
import { Person } from './person.ts';
import { overflows, violationsInBothSchemes } from './violations.ts';

/** Walks through the screens of a page of this size, and expects no violation of accessibility rules and nothing that sticks out to the side. */
export async function hasNoViolations(here: Stage, size: OpenOptions): Promise<void> {
  const person = new Person(await here.open(size));
  const { page } = person;
  const found: Record<string, string[]> = {};
  const check = async (screen: string) => {
    const wrong = await violationsInBothSchemes(page);
    if (await overflows(page)) wrong.push('sticks out to the side');
    if (wrong.length > 0) found[screen] = wrong;
  };
  await page.getByText('What can I do for you?').waitFor();
  await check('empty');
  await person.say('Send $30 to Alice and $40 to Bob');
  await person.card('requested').waitFor();
  await check('a card');
  await person.approve();
  await person.card('done').waitFor();
  await person.card('requested').waitFor();
  await person.deny('Not today');
  await person.answers.getByText(/so it did not happen/).waitFor();
  await expect.poll(() => person.isBusy()).toBe(false);
  await check('an answer');
  await person.say('Show Markdown');
  await person.answers.nth(1).locator('pre').first().waitFor();
  await expect.poll(() => person.isBusy()).toBe(false);
  await check('Markdown');
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByRole('menu').waitFor();
  await check('the menu');
  await page.keyboard.press('Escape');
  await person.openPanel('Inspector');
  await page.getByRole('listbox').getByRole('option').first().waitFor();
  await page.getByRole('listbox').locator('[data-kind="row"]').first().click();
  await page.getByRole('region', { name: 'Rules' }).waitFor();
  await check('the inspector');
  await page.getByRole('button', { name: 'More about recordings' }).click();
  await page.getByRole('menu').waitFor();
  await check('what can be done with a recording');
  await page.keyboard.press('Escape');
  await page.getByRole('tab', { name: 'ADK events' }).click();
  await page
    .getByText(/process_payment →/)
    .first()
    .waitFor();
  await page
    .getByText(/process_payment →/)
    .first()
    .click();
  await check('the events');
  await page.getByRole('button', { name: 'Close the panel' }).click();
  await person.openPanel('Approval log');
  await page.getByText('Denied', { exact: true }).last().waitFor();
  await check('the approval log');
  await page.getByRole('button', { name: 'Close the panel' }).click();
  if ('isMobile' in size) {
    await page.getByRole('button', { name: 'Show conversations' }).click();
    await page.getByRole('dialog').waitFor();
    await check('the conversations');
  }
  expect(found).toEqual({});
}
