import { expect, it } from 'vitest';
import { stage } from './support/browser.ts';
import { Person } from './support/person.ts';

const here = stage();

it('an answer is read to screen readers and printed as it is shown: without signs, and on as many pages as it takes', async () => {
  let goOn = () => {};
  const isOver = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const person = new Person(
    await here.open({
      viewport: { width: 900, height: 500 },
      colorScheme: 'dark',
      // What shows Markdown comes when the answer is over, and then it is read as it is shown, too.
      prepare: (context) =>
        context.route(/\/markdown-[^/]*\.js$/, (route) => isOver.then(() => route.continue())),
    }),
  );
  const { page } = person;
  await person.say('Show Markdown');
  await person.answers.getByRole('button', { name: 'Answer again' }).waitFor();
  expect(await person.answers.locator('pre').count()).toBe(0);
  goOn();
  await person.answers.locator('pre').first().waitFor();
  const heard = page.locator('body > div > [aria-live="polite"]').last();
  const heading = await person.answers.locator('h2, h3').first().innerText();
  await expect.poll(() => heard.innerText()).toContain(heading);
  expect(await heard.innerText()).not.toMatch(/^#|\*\*|```/m);
  const pages = String(await page.pdf({ width: '600px', height: '400px' })).match(/\/Type\s*\/Page\b/g);
  expect(pages?.length).toBeGreaterThan(1);
  await page.emulateMedia({ media: 'print' });
  const printed = async () => [
    await person.answers.first().evaluate((answer) => getComputedStyle(answer).color),
    await page
      .locator('pre')
      .first()
      .evaluate((one) => getComputedStyle(one).whiteSpace),
    await page.getByRole('button').evaluateAll((all) => all.filter((one) => one.checkVisibility()).length),
  ];
  await expect.poll(printed).toEqual(['rgb(33, 31, 28)', 'pre-wrap', 0]);
});

it('what is chosen is seen where the browser takes colours away', async () => {
  const person = new Person(await here.open({ forcedColors: 'active' }));
  const panel = await person.openPanel('Inspector');
  const ground = (name: string) =>
    panel.getByRole('tab', { name }).evaluate((one) => getComputedStyle(one).backgroundColor);
  await expect.poll(async () => (await ground('Wire')) !== (await ground('ADK events'))).toBe(true);
  // All that stands on such a ground is seen on it.
  await person.say('Send $50 to Alice');
  await person.card('requested').waitFor();
  const entry = person.page.getByRole('listitem').filter({ hasText: 'Waiting for you' });
  await entry.first().waitFor();
  const colours = () =>
    entry
      .locator('button[aria-current], time, p, p *')
      .evaluateAll((all) => [...new Set(all.map((one) => getComputedStyle(one).color))]);
  await expect.poll(colours).toHaveLength(1);
});

it('a menu that was used with the mouse leaves no ring, and one that was used with keys does', async () => {
  const { page } = new Person(await here.open());
  const settings = page.getByRole('button', { name: 'Settings' });
  const ring = () =>
    settings.evaluate((one) => [one === document.activeElement, getComputedStyle(one).outlineStyle]);
  await settings.click();
  await page.getByRole('menuitemradio', { name: 'Light' }).click();
  await expect.poll(ring).toEqual([true, 'none']);
  await page.keyboard.press('Enter');
  await page.getByRole('menu').waitFor();
  await page.keyboard.press('Escape');
  await expect.poll(ring).toEqual([true, 'solid']);
});

it('a tall draft leaves room for the conversation, and its last line is in sight', async () => {
  const person = new Person(await here.open({ viewport: { width: 900, height: 420 } }));
  await person.box.fill(Array.from({ length: 30 }, (_, index) => `line ${index + 1}`).join('\n'));
  const sizes = () =>
    person.box.evaluate((box) => ({
      isSmall: box.clientHeight < innerHeight / 2,
      isInside: box.getBoundingClientRect().bottom < innerHeight,
      isAtEnd: box.scrollTop + box.clientHeight >= box.scrollHeight - 12,
    }));
  await expect.poll(sizes).toEqual({ isSmall: true, isInside: true, isAtEnd: true });
});
