import { describe, expect, it } from 'vitest';
import { anthropic } from '../support/providers/anthropic.ts';
import type { Dialect } from '../support/providers/dialect.ts';
import { FakeProvider } from '../support/providers/fake-provider.ts';
import { gemini } from '../support/providers/gemini.ts';
import { openaiResponses } from '../support/providers/openai-responses.ts';
import { stage } from './support/browser.ts';
import { Person } from './support/person.ts';
import { DemoServer } from './support/server.ts';

const here = stage();

/** The demo with a key in its environment, and the provider behind it. */
async function withKey(dialect: Dialect, environment?: (fake: FakeProvider) => Record<string, string>) {
  const fake = await FakeProvider.start(dialect);
  here.after(() => fake.stop());
  const server = new DemoServer(environment?.(fake) ?? fake.environment);
  here.after(() => server.dispose());
  await server.start();
  return { fake, server };
}

describe('with a key of a provider the demo', () => {
  it.each([
    ['OpenAI', openaiResponses, 'sse'],
    ['Anthropic', anthropic, 'bidi'],
    ['Gemini', gemini, 'sse'],
  ] as const)('pays with its model after an approval: %s', async (_name, dialect, mode) => {
    const { fake, server } = await withKey(dialect);
    const person = new Person(await here.open({ mode, url: server.url }));
    await person.say('Send $50 to Alice');
    await person.cards.first().waitFor();
    await person.approve();
    await person.answers
      .getByText(/\$50.*Alice|Alice.*\$50/)
      .last()
      .waitFor();
    expect(fake.refused).toEqual([]);
    expect(server.printed).not.toContain(fake.key);
  });

  it.each([
    ['en-US', 'sse', 'The model can’t be reached. Trying again in a moment.'],
    ['ja-JP', 'bidi', 'モデルに接続できません。少し待って再試行します。'],
  ] as const)(
    '[S17] says in %s over %s that the model is asked again, until it answers',
    async (locale, mode, words) => {
      const { fake, server } = await withKey(openaiResponses);
      // The question at the start is not the one to fail.
      await expect.poll(() => fake.asked.length).toBe(1);
      fake.faults.push('reset', 'reset');
      let goOn = () => {};
      fake.before = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      const person = new Person(await here.open({ mode, url: server.url, locale }));
      await person.say('hello');
      await person.page.getByText(words).waitFor();
      goOn();
      await person.answers
        .getByText(/[A-Za-zぁ-ん]/)
        .last()
        .waitFor();
      await person.page.getByTestId('waiting').waitFor({ state: 'detached' });
    },
  );

  it('[S7] says at the start that the key is wrong, runs on, and says it to the person in one sentence', async () => {
    const key = 'Wrong-0123456789-key';
    const { server } = await withKey(anthropic, (fake) => anthropic.environment(fake.url, key));
    await expect
      .poll(() => server.printed)
      .toContain(
        'The model anthropic/claude-fake does not work: its provider does not accept the key (401).',
      );
    const person = new Person(await here.open({ mode: 'bidi', url: server.url }));
    await person.say('hello');
    await person.page
      .getByText(
        'The model is not configured: the model provider does not accept the key of this server (401).',
      )
      .first()
      .waitFor();
    expect(server.printed).not.toContain(key);
  });
});
