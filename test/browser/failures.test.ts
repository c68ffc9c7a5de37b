import { beforeAll, describe, expect, it, vi } from 'vitest';
import { FakeProvider } from '../support/providers/fake-provider.ts';
import { openaiResponses } from '../support/providers/openai-responses.ts';
import { stage } from './support/browser.ts';
import { Person } from './support/person.ts';
import { DemoServer } from './support/server.ts';

const here = stage();

let fake: FakeProvider;
const server = { url: '' };

beforeAll(async () => {
  fake = await FakeProvider.start(openaiResponses);
  const demo = await new DemoServer(fake.environment).start();
  server.url = demo.url;
  // The question at the start is not the one to fail.
  await vi.waitUntil(() => fake.asked.length === 1, { timeout: 60_000 });
  return async () => {
    await demo.dispose();
    await fake.stop();
  };
});

const REFUSED = { error: { code: 'rate_limited', message: 'Too many requests.', retryable: true } };

describe('after an error', () => {
  it.each([
    ['a refused message', 'refused', 'nothing', 'sse'],
    ['a refused message', 'refused', 'a message', 'sse'],
    ['a failed model', 'model', 'nothing', 'sse'],
    ['a failed model', 'model', 'a message', 'sse'],
    ['a failed model', 'model', 'nothing', 'bidi'],
    ['a failed model', 'model', 'a message', 'bidi'],
  ] as const)(
    'of %s (%s) with %s in the queue a new message goes, and the failed one can be tried again, also after a reload, over %s',
    async (_, error, queued, mode) => {
      const person = new Person(await here.open({ mode, url: server.url }));
      const { page } = person;
      const shownTexts = () =>
        person.own.evaluateAll((all) => all.map((one) => one.querySelector('p')?.textContent));
      let fail = () => {};
      const failing = new Promise<void>((resolve) => {
        fail = resolve;
      });
      if (error === 'model') {
        fake.answer = () => ({ text: '', finish: 'stop' });
        fake.before = failing;
      } else {
        await page.route('**/stream', async (route) => {
          await failing;
          await route.fulfill({ status: 429, json: REFUSED });
        });
      }
      await person.say('one');
      await page.getByRole('button', { name: 'Stop' }).waitFor();
      if (queued === 'a message') {
        await person.say('two');
        await page.getByText('Will be sent after this answer').waitFor();
      }
      fail();
      await page.getByTestId('error-card').waitFor();
      if (queued === 'a message') await page.getByText('Waiting: the previous message failed.').waitFor();
      expect(await shownTexts()).toEqual(['one']);
      fake.answer = () => ({ text: 'Yes.', finish: 'stop' });
      await page.unroute('**/stream');
      await person.say('three');
      const rest = queued === 'a message' ? ['two', 'three'] : ['three'];
      await expect.poll(shownTexts).toEqual(['one', ...rest]);
      await expect.poll(() => person.answers.getByText('Yes.').count()).toBe(rest.length);
      expect(await page.getByTestId('error-card').count()).toBe(0);
      await page
        .getByText(/No answer[.:]/)
        .first()
        .waitFor();
      await page.reload();
      await expect.poll(() => person.answers.getByText('Yes.').count()).toBe(rest.length);
      if (error === 'model') {
        await page.getByText('No answer: the model failed.').waitFor();
        await page.getByRole('button', { name: 'Try again' }).click();
      } else {
        // The server never had it: it waits to be sent, and goes only when the person says so.
        await page.getByText('Not sent yet.').waitFor();
        expect(await shownTexts()).toEqual(rest);
        await page.getByRole('button', { name: 'Send now' }).click();
      }
      await expect.poll(() => person.answers.getByText('Yes.').count()).toBe(rest.length + 1);
      expect((await shownTexts()).at(-1)).toBe('one');
    },
  );

  it.each([
    ['length', 'sse', 'Cut off: the answer reached the model’s length limit'],
    ['provider', 'bidi', 'Cut off: the model failed during this answer'],
  ] as const)(
    'an answer that was cut (%s) says so, also after a reload, and is continued over %s',
    async (why, mode, words) => {
      const person = new Person(await here.open({ mode, url: server.url }));
      if (why === 'provider') {
        fake.answer = () => ({ text: 'Once upon a time there was a town.', finish: 'stop' });
        fake.faults.push('error in the middle');
      } else fake.answer = () => ({ text: 'Once upon', finish: 'length' });
      await person.say('Tell me a story');
      await person.answers.getByText(words).waitFor();
      await person.page.reload();
      await person.answers.getByText(/Once/).waitFor();
      await person.answers.getByText(words).waitFor();
      fake.answer = () => ({ text: 'The rest of it.', finish: 'stop' });
      await person.page.getByRole('button', { name: 'Continue' }).click();
      await person.answers.getByText('The rest of it.').waitFor();
      await person.answers.getByText(words).waitFor({ state: 'detached' });
      expect([await person.own.count(), await person.answers.count()]).toEqual([1, 1]);
      expect(await person.page.getByTestId('error-card').count()).toBe(0);
    },
  );
});
