import { describe, expect, it } from 'vitest';
import { type OpenOptions, stage } from './support/browser.ts';
import { Person } from './support/person.ts';
import { osaka } from './support/scenario.ts';
import { overflows, tooSmallForFingers } from './support/violations.ts';

const here = stage();
const phone: OpenOptions = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

describe('the page before the first word', () => {
  it.each([
    ['on a small phone', { ...phone, viewport: { width: 375, height: 667 } }, true],
    [
      'on a small phone, in Japanese',
      { ...phone, viewport: { width: 375, height: 667 }, locale: 'ja-JP' },
      true,
    ],
    ['in a low window', { viewport: { width: 900, height: 420 } }, false],
  ] as [string, OpenOptions, boolean][])('starts at its top, %s', async (_, options, fits) => {
    const { page } = new Person(await here.open(options));
    const list = page.getByRole('region', { name: /^(Conversation|会話)$/ });
    const title = list.getByRole('heading');
    await title.waitFor();
    const view = () =>
      list.evaluate((box) => ({
        top: box.scrollTop,
        title: (box.querySelector('h2')?.getBoundingClientRect().top ?? 0) > box.getBoundingClientRect().top,
        fits: box.scrollHeight <= box.clientHeight,
      }));
    await expect.poll(view).toEqual({ top: 0, title: true, fits });
    expect(await page.getByRole('button', { name: /^(Latest|最新)/ }).count()).toBe(0);
  });
});

describe('the conversation of the README, in Japanese', () => {
  it.each(['sse', 'bidi'] as const)('is held on a phone, over %s', async (mode) => {
    const person = new Person(await here.open({ mode, locale: 'ja-JP', ...osaka, ...phone }));
    const { page } = person;
    await page.getByText('何をお手伝いしましょうか').waitFor();
    await expect.poll(() => page.evaluate(() => document.documentElement.lang)).toBe('ja');
    await person.say('Aliceに30ドル、Bobに40ドル送金してください');
    await person.card('requested').first().waitFor();
    expect(await tooSmallForFingers(page)).toEqual([]);
    expect(await page.locator('.card-keys').filter({ visible: true }).count()).toBe(0);
    await person.approve();
    if (mode === 'bidi') await person.card('done').waitFor();
    await person.card('requested').first().waitFor();
    await person.deny();
    await person.answers
      .getByText(
        'Aliceさんに30ドルを送金しました。Bobさんへの40ドルの送金は承認されなかったため、行っていません。',
      )
      .waitFor();
    await person.say('東京の天気を教えて');
    await person.answers
      .nth(1)
      .getByText(/東京の天気は/)
      .waitFor();
    await person.say('トラック2を流して');
    await page.locator('[data-track="2"]').waitFor();
    await person.say('現在地を教えて');
    await person.card('requested').waitFor();
    await person.approve();
    await person.answers
      .nth(3)
      .getByText(/緯度34\.6937/)
      .waitFor();
    await expect.poll(() => overflows(page)).toBe(false);
    await page.reload();
    await person.answers
      .nth(3)
      .getByText(/緯度34\.6937/)
      .waitFor();
    await expect.poll(() => person.statesOfCards()).toEqual(['done', 'denied', 'done']);
  });
});
