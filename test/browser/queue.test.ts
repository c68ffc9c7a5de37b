import { describe, expect, it } from 'vitest';
import { stage } from './support/browser.ts';
import { haltAt } from './support/halt.ts';
import { Person } from './support/person.ts';
import { Relay } from './support/relay.ts';

const here = stage();
const modes = ['sse', 'bidi'] as const;

/** A person, and how the agent counts for them: to three, and further when the server goes on. */
async function listener(
  mode: 'sse' | 'bidi',
): Promise<{ person: Person; count: (to?: number) => Promise<void> }> {
  const relay = await new Relay(here.server.url).start();
  here.after(() => relay.dispose());
  const person = new Person(await here.open({ mode, url: relay.url }));
  const count = async (to = 500) => {
    await haltAt(here, relay, '"4 "', () => person.say(`Count to ${to}`));
    await person.answers.last().getByText(/\b3\b/).waitFor();
  };
  return { person, count };
}

describe('what is written while the agent speaks', () => {
  it.each(modes)('interrupts with “Send now”, and is the next thing said, over %s', async (mode) => {
    const { person, count } = await listener(mode);
    const { page } = person;
    await count();
    await person.say('What is the weather in Tokyo?');
    if (mode === 'sse') {
      await person.box.fill('Play track 2');
      await page.getByTestId('chat-form').getByRole('button', { name: 'Send now' }).click();
    } else {
      await person.say('Play track 2');
      await page
        .getByRole('list', { name: 'Messages waiting to be sent' })
        .getByRole('listitem')
        .nth(1)
        .getByRole('button', { name: 'Send now' })
        .click();
    }
    here.server.goOn();
    await page.locator('[data-track="2"]').waitFor();
    await person.answers.nth(2).getByText(/Tokyo/).last().waitFor();
    await expect
      .poll(() => person.own.allInnerTexts())
      .toEqual(['Count to 500', 'Play track 2', 'What is the weather in Tokyo?']);
    await person.answers.first().getByText('Stopped').waitFor();
  });

  it('waits, and can be changed, moved and taken back while it does', async () => {
    const { person, count } = await listener('sse');
    const { page } = person;
    await count(200);
    const waiting = page.getByRole('list', { name: 'Messages waiting to be sent' }).getByRole('listitem');
    for (const text of ['Play track 1', 'Hello', 'Play track 2', 'Thanks']) await person.say(text);
    await waiting.nth(3).getByRole('button', { name: 'Don’t send' }).click();
    await waiting.nth(2).getByRole('button', { name: 'Move up' }).click();
    await waiting.nth(0).getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('textbox', { name: 'Edit the waiting message' }).fill('Good morning');
    await page.keyboard.press('Enter');
    await expect
      .poll(async () => (await waiting.allInnerTexts()).map((text) => text.split('\n')[0]?.trim()))
      .toEqual(['Good morning', 'Play track 2', 'Hello']);
    here.server.goOn();
    await expect
      .poll(() => person.own.allInnerTexts())
      .toEqual(['Count to 200', 'Good morning', 'Play track 2', 'Hello']);
  });

  it('interrupts with Enter where the person wants that, and then waits with Ctrl and Enter', async () => {
    const { person, count } = await listener('bidi');
    const { page } = person;
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('menuitemradio', { name: 'Interrupts the answer' }).click();
    await count();
    await page.getByText(/^Enter to interrupt and send, Ctrl\+Enter to send after the answer/).waitFor();
    await person.box.fill('Hello');
    await person.box.press('Control+Enter');
    await page.getByText('Will be sent after this answer').waitFor();
    await person.say('Play track 2');
    here.server.goOn();
    await page.locator('[data-track="2"]').waitFor();
    await expect.poll(() => person.own.allInnerTexts()).toEqual(['Count to 500', 'Play track 2', 'Hello']);
  });

  it('waits beside an open approval: an interruption would end that too', async () => {
    const { person, count } = await listener('bidi');
    const { page } = person;
    await person.say('Send $50 to Alice');
    await person.card('requested').waitFor();
    await count();
    await person.say('Play track 2');
    await page.getByText('Will be sent after this answer').waitFor();
    expect(await page.getByRole('button', { name: 'Send now' }).count()).toBe(0);
    expect(await person.statesOfCards()).toEqual(['requested']);
  });
});
