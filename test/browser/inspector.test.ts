import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { stage } from './support/browser.ts';
import { Person } from './support/person.ts';
import { osaka } from './support/scenario.ts';
import { DemoServer } from './support/server.ts';

const here = stage();
const modes = ['sse', 'bidi'] as const;

/** The texts of the rows that are drawn. */
const rows = (panel: Locator) =>
  panel
    .getByRole('listbox')
    .getByRole('option')
    .evaluateAll((all) => all.map((row) => (row as HTMLElement).innerText.replace(/\s+/g, ' ')));

/** Saves a recording from the menu. */
async function saved(person: Person, panel: Locator, name: string): Promise<Buffer> {
  await panel.getByRole('button', { name: 'More about recordings' }).click();
  return person.save(person.page.getByRole('menuitem', { name }));
}

/** Has a recording played to its end, if it is not there already. */
async function toTheEnd(bar: Locator): Promise<void> {
  await bar.getByRole('button', { name: 'To the end' }).dispatchEvent('click');
}

describe('the inspector', () => {
  it.each(modes)('shows frames and chunks in both directions as they come, over %s', async (mode) => {
    const person = new Person(await here.open({ mode }));
    const panel = await person.openPanel('Inspector');
    await person.say('Send $50 to Alice');
    await person.card('requested').waitFor();
    await person.approve();
    await person.answers.getByText('I sent $50 to Alice.').waitFor();
    await panel.getByLabel('Search').fill('tool');
    // The answer was sent, and its output came some time later.
    for (const row of [
      /tool-input-start/,
      /tool-input-available/,
      /tool-approval-request/,
      /approved/,
      /tool-output-available .*\d m?s/,
    ]) {
      await expect.poll(async () => (await rows(panel)).join('\n')).toMatch(row);
    }
    await panel.getByLabel('Direction').selectOption('out');
    // The turn, and in it the answer.
    await expect.poll(async () => (await rows(panel)).length).toBe(2);
  });

  it('filters by kind, pauses, steps, empties, and tells all of a row, with keys alone', async () => {
    const person = new Person(await here.open());
    const panel = await person.openPanel('Inspector');
    const count = async () => Number((await panel.getByText(/^\d+ rows/).innerText()).split(' ')[0]);
    await person.say('What is the weather in Tokyo?');
    await person.answers.getByText(/Tokyo/).last().waitFor();
    await panel.getByText('[DONE]').waitFor();
    // From here on nothing is added by itself, not even a heartbeat.
    await panel.getByRole('button', { name: 'Pause' }).click();
    await panel.getByText(/Paused/).waitFor();
    const all = await count();
    await panel.getByRole('button', { name: 'Text', exact: true }).click();
    await expect.poll(count).toBeLessThan(all);
    await panel.getByRole('button', { name: 'Text', exact: true }).click();
    await expect.poll(count).toBe(all);

    await person.say('Play track 2');
    await person.page.locator('[data-track="2"]').waitFor();
    await panel.getByText('Paused. More rows are waiting.').waitFor();
    expect(await count()).toBe(all);
    await panel.getByRole('button', { name: 'Next row' }).click();
    await expect.poll(count).toBe(all + 1);
    await panel.getByRole('button', { name: 'Resume' }).click();
    await expect.poll(count).toBeGreaterThan(all + 5);

    await panel.getByRole('listbox').focus();
    await person.page.keyboard.press('Home');
    await person.page.keyboard.press('ArrowDown');
    await person.page.keyboard.press('ArrowDown');
    await panel.getByRole('region', { name: 'Selected row' }).getByText('"data-session"').waitFor();
    await panel.getByRole('button', { name: 'Pause' }).click();
    await panel.getByText(/Paused/).waitFor();
    await panel.getByRole('button', { name: 'Clear the list' }).click();
    await panel.getByText(/^0 rows/).waitFor();
    await person.say('Play track 1');
    await panel.getByText('New rows are hidden while the list is paused.').waitFor();
  });

  it('folds runs of deltas, tells the time to the first token, and shows the rule of each row', async () => {
    const person = new Person(await here.open());
    const panel = await person.openPanel('Inspector');
    await person.say('Count to 60');
    await panel.getByText('[DONE]').waitFor();
    const list = panel.getByRole('listbox');
    await list.getByText(/^Turn 1$/).waitFor();
    await list.getByText(/first token \d+ ms · BIDI/).waitFor();
    const run = list.getByText(/^text-delta ×\d+$/);
    await expect.poll(() => run.count()).toBe(1);
    await run.click();
    const details = panel.getByRole('region', { name: 'Selected row' });
    await details.getByText(/1 2 3 .* 60/).waitFor();
    // Its details take room from the list, and it stays in sight.
    const isInSight = async () => {
      const [row, box] = [await run.boundingBox(), await list.boundingBox()];
      return row !== null && box !== null && row.y >= box.y && row.y < box.y + box.height;
    };
    await expect.poll(isInSight).toBe(true);
    await details
      .getByRole('region', { name: 'Rules' })
      .getByText(/A text or reasoning block MUST be one start/)
      .waitFor();
    await list.focus();
    const before = await list.getByRole('option').last().getAttribute('aria-setsize');
    await person.page.keyboard.press('ArrowRight');
    await expect.poll(() => list.getByRole('option').last().getAttribute('aria-setsize')).not.toBe(before);
  });

  it('leads from a message or a card to its rows, and back', async () => {
    const person = new Person(await here.open());
    const { page } = person;
    expect(await page.getByRole('button', { name: 'Show in the inspector' }).count()).toBe(0);
    const panel = await person.openPanel('Inspector');
    await person.say('Send $50 to Alice');
    await person.card('requested').waitFor();
    await person.approve();
    await person.answers.getByText('I sent $50 to Alice.').waitFor();
    await expect.poll(() => person.isBusy()).toBe(false);
    const ways = person.answers.getByRole('button', { name: 'Show in the inspector' });
    await ways.first().click();
    const types = () => panel.getByRole('listbox').locator('[data-kind="row"]').allInnerTexts();
    await expect
      .poll(async () => (await types()).join(' '))
      .toMatch(
        /tool-input-start.*tool-input-available.*tool-approval-request.*approved.*data-decided.*tool-output-available/s,
      );
    expect(await types()).toHaveLength(6);
    await panel.getByText('tool-approval-request').click();
    await panel.getByRole('button', { name: 'Show in the conversation' }).click();
    await ways.last().click();
    await expect.poll(async () => (await types()).join(' ')).toContain('finish');
    const all = panel.getByRole('button', { name: /One message only/ });
    await all.click();
    await all.waitFor({ state: 'detached' });
  });

  it('shows the events of the agent behind the conversation', async () => {
    const person = new Person(await here.open());
    const panel = await person.openPanel('Inspector');
    await panel.getByRole('tab', { name: 'ADK events' }).click();
    await panel.getByText('The agent has written no events in this conversation yet.').waitFor();
    await person.say('What is the weather in Tokyo?');
    await panel.getByText(/get_weather → .*Tokyo/).waitFor();
    await panel.getByText(/get_weather → .*Tokyo/).click();
    await panel.getByText('"functionResponse"').first().waitFor();
  });

  it('refuses in plain words what is no recording', async () => {
    const person = new Person(await here.open());
    const panel = await person.openPanel('Inspector');
    for (const [content, words] of [
      ['no', 'It is not JSON.'],
      ['{}', 'It is neither a recording of this page nor a fixture.'],
      ['{"format":"duologue-recording","version":2}', 'It was made by a newer version of this page.'],
      ['{"format":"duologue-recording","version":1,"events":[{}]}', 'Its list of events is damaged.'],
    ] as const) {
      await panel
        .getByTestId('recording-input')
        .setInputFiles({ name: 'a.json', mimeType: 'application/json', buffer: Buffer.from(content) });
      await panel.getByText(words).waitFor();
    }
  });
});

describe('a recording', () => {
  it('of a conversation in both modes plays again with the server stopped, and ends with the same page', async () => {
    const server = await new DemoServer().start();
    here.after(() => server.dispose());
    const person = new Person(await here.open({ mode: 'bidi', url: server.url, ...osaka }));
    const panel = await person.openPanel('Inspector');
    await person.say('Send $30 to Alice and $40 to Bob');
    await person.card('requested').waitFor();
    await person.approve();
    await person.card('done').waitFor();
    await person.card('requested').waitFor();
    await person.deny('Not today');
    await person.answers.getByText(/so it did not happen/).waitFor();
    await expect.poll(() => person.isBusy()).toBe(false);
    await person.chooseMode('SSE');
    await person.say('Where am I?');
    await person.card('requested').waitFor();
    await person.approve();
    await person.answers
      .nth(1)
      .getByText(/34\.6937/)
      .last()
      .waitFor();
    await expect.poll(() => person.isBusy()).toBe(false);
    const texts = await person.answers.allInnerTexts();
    const buffer = await saved(person, panel, 'Save the recording');
    const file = { name: 'recording.json', mimeType: 'application/json', buffer };
    expect(JSON.parse(String(buffer))).toMatchObject({
      format: 'duologue-recording',
      version: 1,
      mode: 'sse',
    });

    await server.stop();
    await panel.getByTestId('recording-input').setInputFiles(file);
    const bar = person.page.getByTestId('replay-bar');
    await bar.waitFor();
    await expect.poll(() => person.page.getByTestId('connection').innerText()).toBe('Replay');
    await toTheEnd(bar);
    await bar.getByText('The page looks the same as in the recording.').waitFor();
    await expect.poll(() => person.answers.allInnerTexts()).toEqual(texts);
    expect(await person.statesOfCards()).toEqual(['done', 'denied', 'done']);

    await bar.getByRole('button', { name: 'From the beginning' }).click();
    const position = async () => Number((await bar.getByTestId('replay-position').innerText()).split(' ')[0]);
    await bar.getByRole('button', { name: 'Pause' }).click();
    // What was being played when the pause came is played to its end.
    const resting = person.page.locator(
      '[data-testid="replay-bar"][data-status="paused"][aria-busy="false"]',
    );
    await resting.waitFor();
    const before = await position();
    await bar.getByRole('button', { name: 'Next event' }).click();
    await expect.poll(position).toBe(before + 1);
    await bar.getByRole('button', { name: 'Back to the conversation' }).click();
    await person.box.waitFor();
  });

  it('is saved and seen again with one press, and without its words it still checks itself', async () => {
    const person = new Person(await here.open({ mode: 'bidi' }));
    const { page } = person;
    const panel = await person.openPanel('Inspector');
    await person.say('Send $37 to Alice for lunch');
    await person.card('requested').waitFor();
    await person.deny('Not hungry');
    await person.answers.getByText(/was denied/).waitFor();
    await expect.poll(() => person.isBusy()).toBe(false);
    await person.chooseMode('SSE');
    await person.say('What is the weather in Tokyo?');
    await person.answers.nth(1).getByText(/Tokyo/).last().waitFor();
    await expect.poll(() => person.isBusy()).toBe(false);
    const whole = await person.save(panel.getByRole('button', { name: 'Save and replay' }));
    expect(String(whole)).toContain('Alice');
    const bar = page.getByTestId('replay-bar');
    await toTheEnd(bar);
    await bar.getByText('The page looks the same as in the recording.').waitFor();
    const bare = await saved(person, panel, 'Save without texts');
    expect(String(bare)).not.toMatch(/Alice|lunch|hungry|Tokyo|\$37|weather in/);
    await panel
      .getByTestId('recording-input')
      .setInputFiles({ name: 'a.json', mimeType: 'application/json', buffer: bare });
    // The words of the other recording are gone.
    await person.own.first().getByText('xxxx $00 xx xxxxx xxx xxxxx', { exact: true }).waitFor();
    await toTheEnd(bar);
    await bar.getByText('The page looks the same as in the recording.').waitFor();
    await expect.poll(() => person.statesOfCards()).toEqual(['denied']);
  });

  it('leads back to the conversation as it was', async () => {
    const person = new Person(await here.open());
    await person.say('What is the weather in Tokyo?');
    await person.answers.getByText(/Tokyo/).last().waitFor();
    await expect.poll(() => person.isBusy()).toBe(false);
    const panel = await person.openPanel('Inspector');
    const texts = await person.answers.allInnerTexts();
    const buffer = await saved(person, panel, 'Save the recording');
    const file = { name: 'recording.json', mimeType: 'application/json', buffer };
    await panel.getByTestId('recording-input').setInputFiles(file);
    await person.page.getByRole('button', { name: 'Back to the conversation' }).click();
    await person.box.waitFor();
    await expect.poll(() => person.answers.allInnerTexts()).toEqual(texts);
  });
});
