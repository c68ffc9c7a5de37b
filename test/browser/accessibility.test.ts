import { describe, expect, it } from 'vitest';
import { stage } from './support/browser.ts';
import { DOT, Person } from './support/person.ts';
import { Relay } from './support/relay.ts';
import { hasNoViolations } from './support/screens.ts';
import { violationsInBothSchemes } from './support/violations.ts';

const here = stage();

describe('in light and in dark', () => {
  it('no screen has a violation of accessibility rules', () => hasNoViolations(here, {}));

  it('an error, a lost connection, a warning and a replay have none either', async () => {
    const person = new Person(await here.open({ mode: 'sse' }));
    const { page } = person;
    await person.say('x'.repeat(100_001));
    await page.getByTestId('error-card').waitFor();
    expect(await violationsInBothSchemes(page)).toEqual([]);
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await page.context().setOffline(true);
    await page.getByTestId('connection-banner').waitFor();
    expect(await violationsInBothSchemes(page)).toEqual([]);
    await page.context().setOffline(false);
    await person.say('Send $50 to Alice');
    await person.card('requested').waitFor();
    await person.say('What is the weather in Tokyo?');
    await page.getByTestId('cancel-warning').waitFor();
    expect(await violationsInBothSchemes(page)).toEqual([]);
    await person.approve();
    await person.answers.nth(1).getByText(/Tokyo/).last().waitFor();
    await expect.poll(() => person.isBusy()).toBe(false);
    const panel = await person.openPanel('Inspector');
    const events = [{ at: 0, channel: 1, type: 'open', path: '/live' }];
    const recording = {
      format: 'duologue-recording',
      version: 1,
      mode: 'bidi',
      sessionId: 'a',
      isCut: true,
      events,
      messages: [],
    };
    await panel.getByTestId('recording-input').setInputFiles({
      name: 'a.json',
      mimeType: 'application/json',
      buffer: Buffer.from(JSON.stringify(recording)),
    });
    await page.locator('[data-testid="replay-bar"][data-status="ended"]').waitFor();
    expect(await violationsInBothSchemes(page)).toEqual([]);
  });

  it('what waits, is changed, asked or shown large, and a page that watches another, have none either', async () => {
    const relay = await new Relay(here.server.url).start();
    here.after(() => relay.dispose());
    const person = new Person(await here.open({ url: relay.url }));
    const { page } = person;
    const found: Record<string, string[]> = {};
    const check = async (screen: string, on = page) => {
      const wrong = await violationsInBothSchemes(on);
      if (wrong.length > 0) found[screen] = wrong;
    };
    await page.getByTestId('picture-input').setInputFiles(DOT);
    await page.getByRole('list', { name: 'Files to send' }).locator('img').waitFor();
    await check('a picture to send');
    // The answer goes on until the test has looked.
    const held = relay.hold('"30 "');
    await person.say('Count to 500');
    await held;
    await person.answers.getByText(/\b3\b/).waitFor();
    await person.say('Play track 2');
    await page.getByRole('listitem').getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('textbox', { name: 'Edit the waiting message' }).waitFor();
    await check('a message that waits');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    relay.release();
    await page.locator('[data-track="2"]').click();
    await page.getByRole('slider').waitFor();
    await check('the music');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Open picture: a.png' }).click();
    await page.getByRole('dialog').waitFor();
    await check('a large picture');
    await page.keyboard.press('Escape');
    await expect.poll(() => person.isBusy()).toBe(false);
    await person.own.last().getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('textbox', { name: 'Edit your message' }).waitFor();
    await check('an edit');
    await page.keyboard.press('Escape');
    const choose = async (name: string) => {
      await page.getByRole('navigation').getByRole('button', { name: 'Count to 500', exact: true }).hover();
      await page.getByRole('button', { name: 'Actions for Count to 500' }).click();
      await page.getByRole('menu').waitFor();
      if (name === 'Delete') await check('the menu of a conversation');
      await page.getByRole('menuitem', { name }).click();
    };
    await choose('Delete');
    await page.getByRole('alertdialog').waitFor();
    await check('a question');
    await page.keyboard.press('Escape');
    await page.getByRole('alertdialog').waitFor({ state: 'detached' });
    await choose('Rename');
    await page.getByRole('textbox', { name: 'Name of the conversation' }).waitFor();
    await check('a new name');
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.getByText(/You see it live/).waitFor();
    await check('a page that watches', other);
    expect(found).toEqual({});
  });

  it('a conversation that is missing, and one that cannot be deleted, have none either', async () => {
    const url = `${here.server.url}/?session=chat_missing`;
    const person = new Person(await here.open({ mode: 'sse', url, locale: 'ja-JP' }));
    const { page } = person;
    await page.getByText('この会話は削除されたか').waitFor();
    expect(await violationsInBothSchemes(page)).toEqual([]);
    await page.getByRole('main').getByRole('button', { name: '新しい会話' }).click();
    await person.say('こんにちは');
    const item = page.getByRole('navigation').getByRole('button', { name: 'こんにちは', exact: true });
    await item.waitFor();
    await page.route('**/sessions/*', (route) =>
      route.request().method() === 'DELETE' ? route.abort() : route.continue(),
    );
    await page.getByRole('button', { name: '設定' }).click();
    await page.getByRole('menuitem', { name: 'この会話を削除' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: '削除' }).click();
    await page.getByText('会話を削除できませんでした。').waitFor();
    expect(await item.count()).toBe(1);
    expect(await violationsInBothSchemes(page)).toEqual([]);
  });
});
