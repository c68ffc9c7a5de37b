import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { stage } from './support/browser.ts';
import { Person } from './support/person.ts';
import { Relay } from './support/relay.ts';

const here = stage();
const modes = ['sse', 'bidi'] as const;

/** Waits until something has the focus. */
const hasFocus = (place: Locator) =>
  expect.poll(() => place.evaluate((one) => one === document.activeElement)).toBe(true);

describe('an approval card', () => {
  it.each(modes)('appears exactly with tool-approval-request, over %s', async (mode) => {
    const relay = await new Relay(here.server.url).start();
    here.after(() => relay.dispose());
    const person = new Person(await here.open({ mode, url: relay.url }));
    await person.box.waitFor();
    const held = relay.hold('"tool-approval-request"');
    await person.say('Send $50 to Alice');
    await held;
    // What came before is on the page, the call with its arguments too, and nothing asks yet.
    await person.page
      .locator('[data-tool="process_payment"][data-state-of-call="input-available"]')
      .waitFor();
    expect(await person.cards.count()).toBe(0);
    relay.release();
    await person.card('requested').waitFor();
    expect(await person.cards.count()).toBe(1);
  });

  it.each(modes)('is approved and denied with keys, and gives the focus back, over %s', async (mode) => {
    const person = new Person(await here.open({ mode }));
    await person.say('Send $30 to Alice');
    await hasFocus(person.card('requested'));
    await person.page.keyboard.press('Alt+y');
    await person.card('done').waitFor();
    await hasFocus(person.box);
    await expect.poll(() => person.isBusy()).toBe(false);
    await person.say('Send $40 to Bob');
    await hasFocus(person.card('requested'));
    await person.page.keyboard.press('Alt+n');
    await person.card('denied').waitFor();
    await person.page.getByText('I sent $30 to Alice').first().waitFor();
  });

  it.each(modes)('says which of several it is, also when they come one by one, over %s', async (mode) => {
    const person = new Person(await here.open({ mode }));
    await person.say('Send $10 to Alice and $20 to Bob');
    const [first, second] = ['Alice', 'Bob'].map((name) =>
      person.card('requested').filter({ hasText: name }),
    );
    await first?.getByText('1 of 2').waitFor();
    await first?.getByRole('button', { name: 'Approve' }).click();
    await second?.getByText('2 of 2').waitFor();
    await second?.getByRole('button', { name: 'Approve' }).click();
    await expect.poll(() => person.card('done').count()).toBe(2);
  });

  it('is not approved by an Enter in the message box, nor by words, nor by keys without Alt', async () => {
    const person = new Person(await here.open());
    await person.say('Send $50 to Alice');
    // From now on the card takes an answer.
    await person.card('requested').getByRole('button', { name: 'Approve' }).click({ trial: true });
    await person.page.keyboard.press('Enter');
    await person.page.keyboard.press('y');
    await person.box.focus();
    await person.page.keyboard.press('Enter');
    await person.page.keyboard.type('yes');
    expect(await person.box.inputValue()).toBe('yes');
    // The first answer counts: this one would come too late.
    await person.deny();
    await person.card('denied').waitFor();
  });

  it('says nothing twice, and carries the reason', async () => {
    const person = new Person(await here.open());
    await person.say('Send $50 to Alice for lunch');
    const card = person.card('requested');
    await card.waitFor();
    await card.getByText('$50.00').waitFor();
    expect(await card.locator('dt').allInnerTexts()).toEqual(['description']);
    await person.deny('Not hungry');
    await hasFocus(person.box);
    await person.card('denied').getByRole('button').click();
    await person.card('denied').getByText('Not hungry').waitFor();
    await person.answers.getByText(/was denied \(Not hungry\)/).waitFor();
  });

  it('stays answerable while the person talks on, over BIDI', async () => {
    const person = new Person(await here.open({ mode: 'bidi' }));
    await person.say('Send $50 to Alice');
    await person.card('requested').waitFor();
    await person.say('What is the weather in Tokyo?');
    await person.answers.nth(1).getByText(/Tokyo/).last().waitFor();
    expect(await person.statesOfCards()).toEqual(['requested']);
    await person.approve();
    await person.answers.first().locator('[data-state="done"]').waitFor();
  });

  it('that waits out of sight is told of, also at the end of the conversation, and one press leads to it', async () => {
    const person = new Person(await here.open({ mode: 'bidi', viewport: { width: 900, height: 600 } }));
    await person.say('Send $50 to Alice');
    const card = person.card('requested');
    await card.waitFor();
    const pill = person.page.getByRole('button', { name: '1 approval waiting' });
    await expect.poll(() => pill.count()).toBe(0);
    await person.say('Tell me a story');
    await pill.waitFor();
    // The end of the conversation is in sight, and grows.
    await pill.click();
    await hasFocus(card);
    await card.getByRole('button', { name: 'Approve' }).click({ trial: true });
    await pill.waitFor({ state: 'detached' });
    await person.page.getByRole('button', { name: 'Latest' }).waitFor();
  });

  it('is not cancelled by a new message before the person has chosen so, over SSE', async () => {
    const person = new Person(await here.open({ mode: 'sse', viewport: { width: 1280, height: 470 } }));
    const warning = person.page.getByTestId('cancel-warning');
    await person.say('Send $50 to Alice');
    await person.card('requested').waitFor();
    // Seen from outside the page, too.
    await expect.poll(() => person.page.title()).toMatch(/^\(1\) Approval waiting/);
    await person.say('What is the weather in Tokyo?');
    await warning.getByText('Sending your message now cancels it.').waitFor();
    await person.page.getByText('Will be sent after the open request above').waitFor();
    expect(await person.statesOfCards()).toEqual(['requested']);
    // The warning does not hide the card that it speaks of.
    const isInView = () =>
      person.cards.first().evaluate((card) => {
        const box = (card.closest('[data-conversation]') as HTMLElement).getBoundingClientRect();
        const { top, bottom } = card.getBoundingClientRect();
        return top >= box.top && bottom <= box.bottom;
      });
    await expect.poll(isInView).toBe(true);
    await warning.getByRole('button', { name: 'Answer first' }).click();
    await hasFocus(person.card('requested'));
    await warning.getByRole('button', { name: 'Send anyway' }).click();
    await person.card('cancelled').waitFor();
    await person.answers.nth(1).getByText(/Tokyo/).last().waitFor();
    expect(await warning.count()).toBe(0);
  });

  it('is carried out before a message that waited for its answer is sent, over SSE', async () => {
    const person = new Person(await here.open({ mode: 'sse' }));
    await person.say('Send $30 to Alice');
    await person.card('requested').waitFor();
    await person.say('What is the weather in Tokyo?');
    await person.page.getByTestId('cancel-warning').waitFor();
    await person.approve();
    await person.answers.nth(1).getByText(/Tokyo/).last().waitFor();
    expect(await person.statesOfCards()).toEqual(['done']);
    expect(await person.own.count()).toBe(2);
  });
});

describe('the approval log', () => {
  it('tells what was asked, decided and done, and can be saved', async () => {
    const person = new Person(await here.open());
    await person.say('Send $30 to Alice and $40 to Bob');
    await person.card('requested').waitFor();
    await person.approve();
    await person.card('done').waitFor();
    await person.card('requested').waitFor();
    await person.deny('=1+1, no');
    await person.card('denied').waitFor();
    const panel = await person.openPanel('Approval log');
    const kinds = () =>
      panel
        .locator('[data-kind]')
        .evaluateAll((steps) => steps.map((step) => step.getAttribute('data-kind')));
    await expect.poll(kinds).toEqual(['issued', 'approved', 'consumed', 'issued', 'denied']);
    await panel.getByText('Sent $30.00 to Alice.').waitFor();
    await panel.getByText('Approved by you').waitFor();
    expect(await panel.getByText('live_user').count()).toBe(0);
    await panel.locator('q', { hasText: /^=1\+1, no$/ }).waitFor();

    const saved = async (name: string) => String(await person.save(panel.getByRole('button', { name })));
    const lines = (await saved('Save as JSON lines'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(
      lines.map(({ kind, toolName, args, reason, user }) => [kind, toolName, args.recipient, reason, user]),
    ).toEqual([
      ['issued', 'process_payment', 'Alice', null, 'live_user'],
      ['issued', 'process_payment', 'Bob', null, 'live_user'],
      ['approved', 'process_payment', 'Alice', null, 'live_user'],
      ['consumed', 'process_payment', 'Alice', null, 'live_user'],
      ['denied', 'process_payment', 'Bob', '=1+1, no', 'live_user'],
    ]);
    const rows = (await saved('Save as CSV')).trimEnd().split('\r\n');
    expect(rows).toHaveLength(6);
    expect(rows[5]).toContain(`"'=1+1, no"`);
  });
});
