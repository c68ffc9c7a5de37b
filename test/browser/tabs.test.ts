import { expect, it } from 'vitest';
import { stage } from './support/browser.ts';
import { Person } from './support/person.ts';

const here = stage();

it('[S20] eight tabs over SSE, more than a browser has connections, all show a conversation live', async () => {
  const first = new Person(await here.open({ mode: 'sse' }));
  const context = first.page.context();
  await first.page.evaluate(() => {
    const { prototype } = BroadcastChannel;
    const { postMessage } = prototype;
    prototype.postMessage = function (message) {
      if (this.name.startsWith('duologue ')) document.documentElement.dataset.reported = 'yes';
      postMessage.call(this, message);
    };
  });
  const hasReported = () => first.page.evaluate(() => document.documentElement.dataset.reported === 'yes');
  await first.say('Hello');
  // What stands below an answer that is whole.
  await first.answers.getByRole('button', { name: 'Answer again' }).waitFor();
  // A tab alone does not report what it reads.
  expect(await hasReported()).toBe(false);
  const url = first.page.url();
  const tabs = [first];
  for (let count = 1; count < 8; count++) {
    const tab = new Person(await context.newPage());
    await tab.page.goto(url);
    await tab.answers.first().waitFor();
    tabs.push(tab);
  }
  const last = tabs.at(-1) ?? first;
  await last.say('Send $30 to Alice');
  await Promise.all(tabs.map((tab) => tab.card('requested').waitFor()));
  await (tabs[3] ?? first).approve();
  await Promise.all(tabs.map((tab) => tab.answers.getByText('I sent $30 to Alice.').waitFor()));
  await expect.poll(hasReported).toBe(true);
  // The tab that reads the stream for all goes: another does, and nothing is missing.
  await first.page.close();
  const rest = tabs.slice(1);
  await last.say('Count to 60');
  await Promise.all(
    rest.map((tab) =>
      tab.answers
        .nth(2)
        .getByText(/\b60\b/)
        .last()
        .waitFor(),
    ),
  );
  for (const tab of rest) {
    const shown = async () => [await tab.own.count(), await tab.answers.count(), await tab.statesOfCards()];
    await expect.poll(shown).toEqual([3, 3, ['done']]);
  }
});
