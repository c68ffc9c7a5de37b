import { expect, it } from 'vitest';
import { stage } from './support/browser.ts';
import { Person } from './support/person.ts';
import { Relay } from './support/relay.ts';

const here = stage();

it.each(['sse', 'bidi'] as const)(
  'a conversation stands in the list from its first word on, in every tab, and says that it waits, over %s',
  async (mode) => {
    const relay = await new Relay(here.server.url).start();
    here.after(() => relay.dispose());
    const person = new Person(await here.open({ mode, url: relay.url }));
    const other = await person.page.context().newPage();
    await other.goto(relay.url);
    const entriesOf = (name: string) =>
      [person.page, other].map((page) =>
        page.getByRole('listitem').filter({ has: page.getByRole('button', { name, exact: true }) }),
      );
    // The answer goes on until both tabs have it in their lists.
    const held = relay.hold('"3 "');
    await person.say('Count to 500');
    await held;
    for (const entry of entriesOf('Count to 500')) await entry.first().waitFor();
    await person.page.getByRole('button', { name: 'Stop' }).waitFor();
    relay.release();
    await person.page.getByRole('button', { name: 'New conversation' }).first().click();
    const texts = `Send $50 to Alice for ${mode}`;
    await person.say(texts);
    await person.card('requested').waitFor();
    for (const entry of entriesOf(texts)) await entry.getByText('Waiting for you').waitFor();
    await person.approve();
    await person.answers.getByText(/I sent \$50 to Alice/).waitFor();
    for (const entry of entriesOf(texts)) {
      await expect.poll(() => entry.getByText('Waiting for you').count()).toBe(0);
    }
  },
);

it('a conversation that is renamed or deleted in one tab is so in the other', async () => {
  const person = new Person(await here.open());
  await person.say('Play track 2');
  await person.page.locator('[data-track="2"]').waitFor();
  await expect.poll(() => person.isBusy()).toBe(false);
  const other = await person.page.context().newPage();
  await other.goto(here.server.url);
  const item = (name: string) => other.getByRole('navigation').getByRole('button', { name, exact: true });
  await item('Play track 2').waitFor();
  const choose = async (of: string, action: string) => {
    const { page } = person;
    await page.getByRole('navigation').getByRole('button', { name: of, exact: true }).hover();
    await page.getByRole('button', { name: `Actions for ${of}` }).click();
    await page.getByRole('menuitem', { name: action }).click();
  };
  await choose('Play track 2', 'Rename');
  await person.page.getByRole('textbox', { name: 'Name of the conversation' }).fill('Evening');
  await person.page.keyboard.press('Enter');
  await item('Evening').waitFor();
  await choose('Evening', 'Delete');
  await person.page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await item('Evening').waitFor({ state: 'detached' });
});
