import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { stage } from './support/browser.ts';
import { haltAt } from './support/halt.ts';
import { DOT, Person } from './support/person.ts';
import { Relay } from './support/relay.ts';

const here = stage();

/** Waits until something has the focus. */
const hasFocus = (place: Locator) =>
  expect.poll(() => place.evaluate((one) => one === document.activeElement)).toBe(true);

async function relayed(): Promise<Relay> {
  const relay = await new Relay(here.server.url).start();
  here.after(() => relay.dispose());
  return relay;
}

describe('the keys of a card', () => {
  it('decide the first open card from the message box, in the middle of a sentence', async () => {
    const person = new Person(await here.open({ mode: 'sse' }));
    await person.say('Send $30 to Alice and $40 to Bob');
    await expect.poll(() => person.statesOfCards()).toEqual(['requested', 'requested']);
    const hints = person.page.getByText('Alt+Y approve, Alt+N deny');
    const shown = () => hints.evaluateAll((all) => all.map((one) => (one as HTMLElement).checkVisibility()));
    await person.box.focus();
    await expect.poll(shown).toEqual([true, false]);
    // The keys decide the card that has the focus, and it says so.
    await person.cards.nth(1).focus();
    await expect.poll(shown).toEqual([false, true]);
    await person.box.pressSequentially('And the');
    await person.page.keyboard.press('Alt+y');
    // In progress, or done already.
    const open = async () => (await person.statesOfCards()).map((state) => state === 'requested');
    await expect.poll(open).toEqual([false, true]);
    await expect.poll(shown).toEqual([true]);
    await hasFocus(person.box);
    await person.page.keyboard.press('Alt+n');
    await expect.poll(() => person.statesOfCards()).toEqual(['done', 'denied']);
    expect(await person.box.inputValue()).toBe('And the');
  });

  it('decide nothing while a dialog is open, and only show a card that is out of sight', async () => {
    const person = new Person(await here.open({ mode: 'bidi', viewport: { width: 900, height: 600 } }));
    await person.say('Send $50 to Alice');
    const card = person.card('requested');
    await card.waitFor();
    await person.page.getByRole('button', { name: 'Show conversations' }).click();
    await person.page.getByRole('dialog').waitFor();
    await person.page.keyboard.press('Alt+y');
    await person.page.keyboard.press('Escape');
    await person.page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await person.statesOfCards()).toEqual(['requested']);
    await person.say('Tell me a story');
    await person.page.getByRole('button', { name: '1 approval waiting' }).waitFor();
    await expect.poll(() => person.isBusy()).toBe(false);
    const inSight = () =>
      card.evaluate((one) => {
        const box = one.closest('[data-conversation]') as Element;
        return one.getBoundingClientRect().bottom > box.getBoundingClientRect().top;
      });
    await expect.poll(inSight).toBe(false);
    await person.page.keyboard.press('Alt+y');
    await hasFocus(card);
    await expect.poll(inSight).toBe(true);
    expect(await person.statesOfCards()).toEqual(['requested']);
    await person.page.keyboard.press('Alt+y');
    await person.card('done').waitFor();
  });
});

describe('the keys of a card that is not wholly in view', () => {
  it('bring it into view, and the next press decides it', async () => {
    const person = new Person(await here.open({ mode: 'sse', viewport: { width: 1280, height: 470 } }));
    const { page } = person;
    await person.say('Send $10 to Alice, $20 to Bob and $30 to Carol');
    await expect.poll(() => person.statesOfCards()).toEqual(['requested', 'requested', 'requested']);
    await expect.poll(() => person.isBusy()).toBe(false);
    const first = person.cards.first();
    /** Scrolls so that a part of the first card is above the conversation, and gives the focus to the message box. */
    const hide = async (part: number) => {
      await person.box.focus();
      await first.evaluate((card, share) => {
        const box = card.closest('[data-conversation]') as HTMLElement;
        const { top, height } = card.getBoundingClientRect();
        box.scrollTop += top - box.getBoundingClientRect().top + height * share;
      }, part);
    };
    const isInView = () =>
      first.evaluate((card) => {
        const box = (card.closest('[data-conversation]') as HTMLElement).getBoundingClientRect();
        const { top, bottom } = card.getBoundingClientRect();
        return top >= box.top && bottom <= box.bottom;
      });
    for (const [keys, part] of [
      ['Alt+n', 1.1],
      ['Alt+y', 0.9],
      ['Alt+y', 0.1],
    ] as const) {
      await hide(part);
      await expect.poll(isInView).toBe(false);
      await page.keyboard.press(keys);
      await hasFocus(first);
      await expect.poll(isInView).toBe(true);
      expect(await person.statesOfCards()).toEqual(['requested', 'requested', 'requested']);
    }
    // A button that floats over the end of the conversation covers the card's end: what it hides is not decided either.
    await first.evaluate((card) => {
      const around = card.closest('[data-conversation]')?.parentElement as HTMLElement;
      const pill = around.appendChild(document.createElement('button'));
      const { left, width, bottom } = card.getBoundingClientRect();
      pill.id = 'over';
      pill.style.cssText = `position: fixed; top: ${bottom - 20}px; left: ${left + width / 2}px; width: 40px; height: 40px`;
    });
    await person.box.focus();
    await page.keyboard.press('Alt+y');
    await hasFocus(first);
    expect(await person.statesOfCards()).toEqual(['requested', 'requested', 'requested']);
    await page.locator('#over').evaluate((pill) => pill.remove());
    await page.keyboard.press('Alt+y');
    await expect
      .poll(async () => (await person.statesOfCards()).slice(1))
      .toEqual(['requested', 'requested']);
    await expect.poll(async () => (await person.statesOfCards())[0]).not.toBe('requested');
  });
});

describe('an answer that is being given', () => {
  it('can be stopped and written after at once, with a button each; Escape stops it too, as the page says', async () => {
    const relay = await relayed();
    const person = new Person(await here.open({ url: relay.url }));
    const { page } = person;
    await page.getByText('Enter to send, Shift+Enter for a new line', { exact: true }).waitFor();
    const count = () => haltAt(here, relay, '"4 "', () => person.say('Count to 500'));
    await count();
    await expect.poll(() => person.isBusy()).toBe(true);
    await page.getByText(/Esc to stop the answer/).waitFor();
    await person.box.fill('And then');
    const stop = page.getByRole('button', { name: 'Stop' });
    await page.getByRole('button', { name: 'Send', exact: true }).click({ trial: true });
    await stop.click();
    here.server.goOn();
    await expect.poll(() => person.isBusy()).toBe(false);
    expect(await person.box.inputValue()).toBe('And then');
    await hasFocus(person.box);
    await count();
    await expect.poll(() => person.isBusy()).toBe(true);
    await page.keyboard.press('Escape');
    here.server.goOn();
    await expect.poll(() => person.isBusy()).toBe(false);
    await stop.waitFor({ state: 'detached' });
    await page.getByText('Stopped').nth(1).waitFor();
  });
});

describe('the focus', () => {
  it('is in the message box on load, after a suggestion, after Stop, and in a new conversation', async () => {
    const relay = await relayed();
    const person = new Person(await here.open({ url: relay.url }));
    const { page } = person;
    await hasFocus(person.box);
    await haltAt(here, relay, '"text-delta"', () =>
      page.getByRole('button', { name: 'Tell me a story' }).click(),
    );
    await hasFocus(person.box);
    const stop = page.getByRole('button', { name: 'Stop' });
    await stop.click();
    here.server.goOn();
    await stop.waitFor({ state: 'detached' });
    await hasFocus(person.box);
    await page
      .getByRole('navigation')
      .getByRole('button', { name: 'New conversation', exact: true })
      .first()
      .click();
    await page.getByText('What can I do for you?').waitFor();
    await hasFocus(person.box);
  });

  it('does not bring up the keyboard of a phone', async () => {
    const person = new Person(
      await here.open({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }),
    );
    await person.box.waitFor();
    const tooSmall = () =>
      person.page
        .locator('button:visible')
        .evaluateAll((all) =>
          all
            .filter(
              (one) => one.getBoundingClientRect().width < 44 || one.getBoundingClientRect().height < 44,
            )
            .map((one) => one.getAttribute('aria-label') ?? one.textContent),
        );
    expect(await tooSmall()).toEqual([]);
    await person.page.getByRole('button', { name: 'Play track 2' }).tap();
    await person.page.locator('[data-track="2"]').waitFor();
    expect(await person.box.evaluate((box) => box === document.activeElement)).toBe(false);
    await person.answers.getByText('Demo model').waitFor();
    expect(await tooSmall()).toEqual([]);
  });

  it('goes into a panel that opens, and back when Escape closes it', async () => {
    const person = new Person(await here.open());
    for (const name of ['Inspector', 'Approval log'] as const) {
      const opener = person.page.getByRole('button', {
        name: name === 'Inspector' ? name : 'Settings',
        exact: true,
      });
      const panel = await person.openPanel(name);
      await hasFocus(panel);
      await person.page.keyboard.press('Tab');
      await hasFocus(panel.getByRole('button', { name: 'Close the panel' }));
      await person.page.keyboard.press('Escape');
      await panel.waitFor({ state: 'detached' });
      await hasFocus(opener);
    }
  });

  it('goes back to what asked when “Answer again?”, an edit or a deletion is given up', async () => {
    const person = new Person(await here.open());
    const { page } = person;
    await person.say('Send $50 to Alice');
    await person.card('requested').waitFor();
    await person.approve();
    await person.answers.getByText('I sent $50 to Alice.').waitFor();
    const again = person.answers.getByRole('button', { name: 'Answer again' });
    const cancel = page.getByRole('alertdialog').getByRole('button', { name: 'Cancel' });
    await again.click();
    await cancel.click();
    await hasFocus(again);
    const edit = person.own.getByRole('button', { name: 'Edit' });
    for (const giveUp of [
      () => page.keyboard.press('Escape'),
      () => page.getByRole('main').getByRole('button', { name: 'Cancel' }).click(),
    ]) {
      await edit.click();
      await hasFocus(page.getByRole('textbox', { name: 'Edit your message' }));
      await giveUp();
      await hasFocus(edit);
    }
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('menuitem', { name: 'Delete this conversation' }).click();
    await cancel.click();
    await hasFocus(page.getByRole('button', { name: 'Settings' }));
    await again.click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Answer again' }).click();
    await hasFocus(person.card('requested'));
  });

  it('goes to the message box when what had it is gone: a picture, an error, the way to the end, a banner', async () => {
    const person = new Person(await here.open({ viewport: { width: 900, height: 500 } }));
    const { page } = person;
    await page.getByTestId('picture-input').setInputFiles(DOT);
    await page.getByRole('button', { name: 'Remove a.png' }).click();
    await hasFocus(person.box);
    await person.say('x'.repeat(100_001));
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await hasFocus(person.box);
    await person.say('Show Markdown');
    await person.answers.locator('pre').first().waitFor();
    await expect.poll(() => person.isBusy()).toBe(false);
    await page.locator('[data-conversation]').evaluate((list) => list.scrollTo(0, 0));
    await page.getByRole('button', { name: 'Latest' }).click();
    await hasFocus(person.box);
    const other = new Person(await page.context().newPage());
    await other.page.goto(page.url());
    await other.page.getByRole('button', { name: 'Use here' }).click();
    await hasFocus(other.box);
  });

  it('stays in a panel that stands over the conversation, and so do the keys of a card', async () => {
    const person = new Person(await here.open({ viewport: { width: 900, height: 700 } }));
    await person.say('Send $50 to Alice');
    await person.card('requested').waitFor();
    const panel = await person.openPanel('Approval log');
    const close = panel.getByRole('button', { name: 'Close the panel' });
    for (let press = 0; press < 12; press++) {
      await person.page.keyboard.press('Tab');
      const isBehind = await person.page.evaluate(() => document.activeElement?.closest('main') !== null);
      expect(isBehind).toBe(false);
    }
    await person.page.keyboard.press('Alt+y');
    await close.click();
    await hasFocus(person.page.getByRole('button', { name: 'Settings' }));
    expect(await person.statesOfCards()).toEqual(['requested']);
  });

  it('goes back to what opened the list of conversations', async () => {
    const person = new Person(await here.open({ viewport: { width: 900, height: 700 } }));
    const opener = person.page.getByRole('button', { name: 'Show conversations' });
    await opener.click();
    await person.page.getByRole('dialog').waitFor();
    await person.page.keyboard.press('Escape');
    await hasFocus(opener);
    await opener.click();
    await person.page.getByRole('dialog').getByRole('button', { name: 'New conversation' }).first().click();
    await hasFocus(person.box);
  });
});
