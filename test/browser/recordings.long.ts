import { describe, expect, it } from 'vitest';
import { stage } from './support/browser.ts';
import { scenarios } from './support/fixtures.ts';
import { Person } from './support/person.ts';
import { osaka } from './support/scenario.ts';

const here = stage();

describe('a recording', () => {
  it('that was captured from a server plays in the page: all 21', async () => {
    const person = new Person(await here.open({ locale: 'ja-JP', ...osaka }));
    const { page } = person;
    await page.getByRole('button', { name: 'インスペクター' }).click();
    const input = page.getByTestId('recording-input');
    const seen: [string, (string | null)[]][] = [];
    for (const { name, file, text } of scenarios) {
      await input.setInputFiles(file);
      const bar = page.getByTestId('replay-bar');
      // It may be at its end already.
      await bar.getByRole('button', { name: '最後まで' }).dispatchEvent('click');
      await page.locator('[data-testid="replay-bar"][data-status="ended"]').waitFor();
      await person.answers.getByText(text, { exact: true }).waitFor();
      seen.push([name, await person.statesOfCards()]);
      await bar.getByRole('button', { name: '会話に戻る' }).click();
      await person.box.waitFor();
    }
    expect(seen).toEqual(scenarios.map(({ name, cards }) => [name, cards]));
  }, 120_000);
});
