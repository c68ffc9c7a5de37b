import { resolve } from 'node:path';
import { FunctionTool, getUserChoiceTool, LlmAgent, requestInputTool } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { webApp } from '../../demo/server/web.ts';
import { serve } from '../../src/server/adapters/node.ts';
import { createDuologue } from '../../src/server/index.ts';
import { call, ScriptedModel, text } from '../support/scripted-model.ts';
import { stage } from './support/browser.ts';
import { demo } from './support/built.ts';
import { Person } from './support/person.ts';

const here = stage();
const modes = ['sse', 'bidi'] as const;

const TABLE = {
  message: 'Which table would you like?',
  response_schema: {
    type: 'object',
    properties: {
      area: { type: 'string', enum: ['inside', 'garden'], title: 'Area' },
      seats: { type: 'integer', minimum: 1, maximum: 8, title: 'Seats' },
      window: { type: 'boolean', title: 'At a window' },
      note: { type: 'string', title: 'Note', description: 'Allergies, a pram, a birthday' },
    },
    required: ['area', 'seats'],
  },
  payload: { restaurant: 'Luigi', evening: 'Friday' },
};

/** What the tool was called with after its approvals. */
const booked: unknown[] = [];

const book = new FunctionTool({
  name: 'book_table',
  description: 'Books a table.',
  execute: (_args, context) => {
    const { toolConfirmation } = context ?? {};
    if (!toolConfirmation)
      context?.requestConfirmation({
        hint: 'How many seats shall I book?',
        payload: { seats: 2, name: 'Ann' },
      });
    else booked.push(toolConfirmation.payload);
    return { status: 'done' };
  },
});

/** Serves the page with an agent whose model calls these tools one after the other, and then says something. */
async function serveAgent(...steps: [string, object][]): Promise<string> {
  const turns = steps.map(([name, args], n) => [call(name, args as Record<string, unknown>, `call-${n}`)]);
  const model = new ScriptedModel([...turns, [text('Thank you, that is all.')]]);
  const tools = [requestInputTool, getUserChoiceTool, book];
  const duologue = createDuologue({ agent: new LlmAgent({ name: 'assistant', model, tools }) });
  const served = await serve(duologue, {
    quiet: true,
    port: 0,
    fallback: webApp(resolve(demo, 'web/dist')),
  });
  here.after(() => served.close());
  return served.url;
}

describe.each(modes)('the card of a question, over %s', (mode) => {
  it('takes an answer from a form, after one that was refused, and says afterwards what was answered', async () => {
    const url = await serveAgent(['adk_request_input', TABLE]);
    const person = new Person(await here.open({ mode, url }));
    await person.say('A table, please');
    const card = person.page.getByTestId('question-card');
    await card.getByText('Which table would you like?').waitFor();
    await expect.poll(() => card.evaluate((one) => one === document.activeElement)).toBe(true);
    await card.getByText('Luigi').waitFor();
    await card.getByLabel('Area').selectOption('garden');
    await card.getByLabel('Seats').fill('12');
    await card.getByRole('button', { name: 'Send answer' }).click();
    await card
      .getByTestId('question-refusal')
      .getByText(/at seats/)
      .waitFor();
    expect(await person.page.getByText('Your decision was not accepted').count()).toBe(0);
    await person.page.reload();
    await card.getByRole('button', { name: 'Send answer' }).click({ trial: true });
    await card.getByLabel('Area').selectOption('garden');
    await card.getByLabel('Seats').fill('4');
    await card.getByLabel('Seats').press('Enter');
    await card.getByText('area: garden, seats: 4').waitFor();
    await person.answers.getByText('Thank you, that is all.').waitFor();
    expect(await card.getAttribute('data-state')).toBe('answered');
  });

  it('answers with one press of a choice, and is declined with its key', async () => {
    const url = await serveAgent(
      ['get_user_choice', { options: ['Small', 'Large'] }],
      ['adk_request_input', { message: 'Your name?' }],
    );
    const person = new Person(await here.open({ mode, url }));
    await person.say('Pizza');
    const cards = person.page.getByTestId('question-card');
    await cards.getByRole('button', { name: 'Large' }).click();
    await cards.first().getByText('Large').waitFor();
    await cards.getByText('Your name?').first().waitFor();
    await expect.poll(() => cards.nth(1).evaluate((one) => one === document.activeElement)).toBe(true);
    await person.page.getByRole('button', { name: 'Send answer' }).click({ trial: true });
    await person.page.keyboard.press('Alt+n');
    await person.answers.getByText('Thank you, that is all.').waitFor();
    expect(await cards.evaluateAll((all) => all.map((one) => one.getAttribute('data-state')))).toEqual([
      'answered',
      'declined',
    ]);
  });

  it('lets the person change the payload of a confirmation before it is approved', async () => {
    booked.length = 0;
    const url = await serveAgent(['book_table', {}]);
    const person = new Person(await here.open({ mode, url }));
    await person.say('Book it');
    const card = person.card('requested');
    await card.getByText('How many seats shall I book?').waitFor();
    await card.getByLabel('seats').fill('6');
    await person.approve();
    await person.card('done').waitFor();
    await person.answers.getByText('Thank you, that is all.').waitFor();
    expect(booked).toEqual([{ seats: 6, name: 'Ann' }]);
  });
});
