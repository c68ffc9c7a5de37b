import { createDuologue } from 'duologue/server';
import { FakeTime, type ScriptTurn, scriptModel, testClient } from 'duologue/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { createAgent } from './agent.ts';

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** The agent of the restaurant with a scripted model, in its own server. */
function restaurant(turns: readonly ScriptTurn[], clock = new FakeTime()) {
  const model = scriptModel(turns);
  const duologue = createDuologue({ agent: createAgent(model), clock });
  closing.push(() => duologue.close());
  return { duologue, model, clock };
}

describe.each(['sse', 'bidi'] as const)('over %s', (over) => {
  test('a table is booked after the guest approves', async () => {
    const { duologue } = restaurant([{ call: 'book_table', args: { seats: 4 } }, 'Your table is booked.']);
    const chat = testClient(duologue, { over });
    const asked = await chat.say('A table for four, please');
    expect(asked.approvals).toMatchObject([{ toolName: 'book_table', input: { seats: 4 } }]);
    const booked = await chat.approve();
    expect(booked.toolCalls).toMatchObject([{ output: { booked: 4 } }]);
    expect(booked.text).toBe('Your table is booked.');
  });

  test('nothing is booked when the guest denies', async () => {
    const { duologue, model } = restaurant([{ call: 'book_table', args: { seats: 4 } }, 'As you wish.']);
    const chat = testClient(duologue, { over });
    await chat.say('A table for four, please');
    const denied = await chat.deny({ reason: 'too early' });
    expect(denied.toolCalls[0]).toMatchObject({ state: 'output-error' });
    // The result of the denied call that the model receives.
    expect(JSON.stringify(model.lastContents)).toContain('too early');
  });

  test('the browser is asked for the place of the guest', async () => {
    const { duologue } = restaurant([{ call: 'find_place' }, 'Turn left at the bridge.']);
    const chat = testClient(duologue, { over, tools: { find_place: () => ({ street: 'Gion' }) } });
    const reported = await chat.say('How do I find you?');
    expect(reported.toolCalls).toMatchObject([{ toolName: 'find_place', output: { street: 'Gion' } }]);
    expect(reported.text).toBe('Turn left at the bridge.');
  });
});

test('a guest who does not decide within 30 seconds gets no table', async () => {
  const { duologue, clock } = restaurant([{ call: 'book_table', args: { seats: 4 } }, 'You were too late.']);
  const chat = testClient(duologue, { over: 'bidi' });
  await chat.say('A table for four, please');
  clock.advance(30_000);
  const late = await chat.next();
  expect(late.toolCalls).toMatchObject([{ errorText: 'Approval request timed out' }]);
  expect(late.text).toBe('You were too late.');
});
