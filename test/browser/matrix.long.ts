import { describe, expect, it } from 'vitest';
import { type OpenOptions, stage } from './support/browser.ts';
import { Person } from './support/person.ts';
import { Relay } from './support/relay.ts';
import { osaka } from './support/scenario.ts';
import { overflows, violations } from './support/violations.ts';

const here = stage();

const SIZES: Record<string, OpenOptions> = {
  'a small phone': { viewport: { width: 360, height: 640 }, isMobile: true, hasTouch: true },
  'a tablet': { viewport: { width: 820, height: 1180 }, isMobile: true, hasTouch: true },
  'a low window': { viewport: { width: 1024, height: 480 } },
  'a wide window': { viewport: { width: 1600, height: 900 } },
};

const TEXTS = {
  en: [
    'Send $30 to Alice and $40 to Bob',
    'What is the weather in Tokyo?',
    'Where am I?',
    'Count to 500',
    'Play track 2',
  ],
  ja: [
    'Aliceに30ドル、Bobに40ドル送金してください',
    '東京の天気を教えて',
    '現在地を教えて',
    '500まで数えて',
    'トラック2を流して',
  ],
} as const;

/** What stands at a message that waits for the end of an answer. */
const WAITS = { en: 'Will be sent after this answer', ja: 'この回答のあとに送信します' } as const;

/** Every screen of a conversation, in each mode, language, size and scheme. */
const ALL = Object.keys(SIZES).flatMap((size) =>
  (['sse', 'bidi'] as const).flatMap((mode) =>
    (['en', 'ja'] as const).map((language) => ({
      size,
      mode,
      language,
      colorScheme: (mode === 'sse') === (language === 'en') ? ('light' as const) : ('dark' as const),
    })),
  ),
);

describe('every screen is whole and without violations', () => {
  it.each(ALL)(
    'on $size, over $mode, in $language, $colorScheme',
    async ({ size, mode, language, colorScheme }) => {
      const locale = language === 'en' ? 'en-US' : 'ja-JP';
      const relay = await new Relay(here.server.url).start();
      here.after(() => relay.dispose());
      const { url } = relay;
      const person = new Person(
        await here.open({ url, mode, locale, colorScheme, ...osaka, ...SIZES[size] }),
      );
      const { page } = person;
      const [payments, weather, location, count, music] = TEXTS[language];
      const found: Record<string, string[]> = {};
      const check = async (screen: string) => {
        const wrong = await violations(page);
        if (await overflows(page)) wrong.push('sticks out to the side');
        if (wrong.length > 0) found[screen] = wrong;
      };
      const rested = () => expect.poll(() => person.isBusy()).toBe(false);
      await person.box.waitFor();
      await check('empty');
      await person.say(payments);
      await person.card('requested').first().waitFor();
      await check('a card');
      await person.approve();
      if (mode === 'bidi') await person.card('done').waitFor();
      await person.card('requested').first().waitFor();
      await person.deny();
      await person.card('denied').waitFor();
      await rested();
      await person.card('done').getByRole('button').click();
      await check('settled cards');
      await person.say(weather);
      await person.answers.nth(1).getByTestId('tool-card').waitFor();
      await rested();
      await person.say(location);
      await person.card('requested').waitFor();
      await person.approve();
      await person.answers
        .nth(2)
        .getByText(/34\.6937/)
        .last()
        .waitFor();
      await rested();
      await check('answers');
      // The answer goes on until all was looked at.
      const held = relay.hold('"30 "');
      await person.say(count);
      await held;
      await person.answers.nth(3).getByText(/\b3\b/).waitFor();
      await person.say(music);
      await page.getByText(WAITS[language]).waitFor();
      await check('what waits');
      await page.locator('[data-mode]').click();
      await page.getByRole('menu').waitFor();
      await check('how messages travel');
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: /^(Settings|設定)$/ }).click();
      await page.getByRole('menu').waitFor();
      await check('the settings');
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: /^(Inspector|インスペクター)$/ }).click();
      await page.getByRole('listbox').locator('[data-kind="row"]').last().click();
      await check('the inspector');
      await page.getByRole('button', { name: /^(Close the panel|パネルを閉じる)$/ }).click();
      await page.getByRole('listbox').waitFor({ state: 'detached' });
      const conversations = page.getByRole('button', { name: /^(Show conversations|会話の一覧を表示)$/ });
      if (await conversations.isVisible()) {
        await conversations.click();
        await page.getByRole('dialog').waitFor();
        await check('the conversations');
      }
      expect(found).toEqual({});
    },
  );
});
