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
    const seen: [string, (string | null)[], boolean][] = [];
    for (const { name, file, text } of scenarios) {
      await input.setInputFiles(file);
      const bar = page.getByTestId('replay-bar');
      await bar.getByRole('button', { name: '最後まで' }).click();
      await page.locator('[data-testid="replay-bar"][data-status="ended"]').waitFor();
      const isSaid = await person.answers.getByText(text, { exact: true }).isVisible();
      seen.push([name, await person.statesOfCards(), isSaid]);
      await bar.getByRole('button', { name: '会話に戻る' }).click();
      await person.box.waitFor();
    }
    expect(seen).toEqual(scenarios.map(({ name, cards }) => [name, cards, true]));
  }, 120_000);
});
