import { LlmAgent, LongRunningFunctionTool } from '@google/adk';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import type { Chunk } from '../../src/protocol/index.ts';
import { createDuologue, type Duologue, type DuologueOptions } from '../../src/server/index.ts';
import { FakeTime, type ScriptTurn, scriptModel, testClient } from '../../src/testing/index.ts';

const open: Duologue[] = [];

afterEach(async () => {
  for (const duologue of open.splice(0)) await duologue.close();
});

const pay = () =>
  defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ amount: z.number() }),
    needsApproval: true,
    approvalMessage: ({ amount }) => `Pay ${amount}?`,
    execute: ({ amount }) => ({ paid: amount }),
  });

const locate = () =>
  defineTool({
    name: 'locate',
    description: 'Asks the browser for the place.',
    parameters: z.object({}),
    runsOn: 'client',
  });

function serve(turns: ScriptTurn[], options: Partial<DuologueOptions> = {}) {
  const model = scriptModel(turns);
  const agent = new LlmAgent({ name: 'assistant', model, tools: [pay(), locate()] });
  const duologue = createDuologue({ agent, logger: { info() {}, warn() {}, error() {} }, ...options });
  open.push(duologue);
  return { duologue, model };
}

describe.each(['sse', 'bidi'] as const)('a test client over %s', (over) => {
  test('reads the text of a whole turn', async () => {
    const { duologue, model } = serve([
      ['Hello', ' there.'],
      ({ contents }) => `${contents.length} contents`,
    ]);
    const chat = testClient(duologue, { over });
    const first = await chat.say('Hi');
    const second = await chat.say('And now?');
    expect([first.text, second.text, second.error]).toEqual(['Hello there.', '3 contents', null]);
    expect(model.left).toBe(0);
    expect(chat.messages.map(({ role, parts }) => [role, parts.length])).toEqual([
      ['user', 1],
      ['assistant', 1],
      ['user', 1],
      ['assistant', 1],
    ]);
  });

  test('sends files, metadata and fields of the request beside the text', async () => {
    const tell = defineTool({
      name: 'tell',
      description: 'Tells what it knows.',
      execute: (_args, { metadata, request }) => ({ ...metadata, ...request?.body }),
    });
    const model = scriptModel([{ call: 'tell' }, 'Told.']);
    const agent = new LlmAgent({ name: 'assistant', model, tools: [tell] });
    const duologue = createDuologue({ agent, toolRequest: { body: ['shop'] }, attachments: ['text/csv'] });
    open.push(duologue);
    const chat = testClient(duologue, { over });
    const files = [{ type: 'file', mediaType: 'text/csv', url: 'data:text/csv;base64,YSxiCg==' }] as const;
    const turn = await chat.say('Tell', { files, metadata: { page: 'cart' }, body: { shop: 'Kyoto' } });
    expect(turn.toolCalls).toMatchObject([{ output: { page: 'cart', shop: 'Kyoto' } }]);
    expect(JSON.stringify(model.requests[0]?.contents)).toContain('YSxiCg');
  });

  test('has the transient data of each turn apart from its chunks, in order', async () => {
    const step = (name: string, needsApproval: boolean) =>
      defineTool({
        name,
        description: 'Works.',
        needsApproval,
        execute: (_args, context) => {
          context.progress({ done: 1 });
          context.data('step', `${name} begins`, { transient: true });
          context.data('chart', [1]);
          context.data('count', name.length, { transient: true, id: 'c' });
          return { done: 2 };
        },
      });
    const model = scriptModel([{ call: 'first' }, { call: 'second' }, 'Done.', 'Bye.']);
    const agent = new LlmAgent({
      name: 'assistant',
      model,
      tools: [step('first', false), step('second', true)],
    });
    const data = { step: z.string(), chart: z.array(z.number()), count: z.number() };
    const duologue = createDuologue({ agent, data, clock: new FakeTime() });
    open.push(duologue);
    const chat = testClient(duologue, { over });
    const turns = [await chat.say('Go'), await chat.approve(), await chat.say('Bye')];
    const sent = (name: string) => [
      { type: 'data-step', data: `${name} begins`, transient: true },
      { type: 'data-count', id: 'c', data: name.length, transient: true },
    ];
    expect(turns.map(({ transientData }) => transientData)).toEqual([sent('first'), sent('second'), []]);
    const kept = turns.map(({ chunks }) =>
      chunks.flatMap(({ type }) => (type.startsWith('data-') ? [type] : [])),
    );
    expect(kept).toEqual([['data-chart'], ['data-chart'], []]);
    const progress = (chunk: Chunk) => chunk.type === 'tool-output-available' && chunk.preliminary === true;
    expect(turns.map(({ chunks }) => chunks.some(progress))).toEqual([true, true, false]);
  });

  test('approves a call, and reads what follows', async () => {
    const { duologue } = serve([
      [{ thinks: 'A payment.' }, { call: 'pay', args: { amount: 5 }, id: 'call-1' }],
      'Paid.',
    ]);
    const chat = testClient(duologue, { over });
    const asked = await chat.say('Pay 5');
    expect(asked.reasoning).toBe('A payment.');
    expect(asked.approvals).toMatchObject([{ toolName: 'pay', input: { amount: 5 }, message: 'Pay 5?' }]);
    const paid = await chat.approve();
    expect(paid.text).toBe('Paid.');
    expect(paid.toolCalls).toMatchObject([
      { toolName: 'pay', state: 'output-available', output: { paid: 5 } },
    ]);
    expect(paid.approvals).toEqual([]);
    await expect(chat.approve('pay')).rejects.toThrow(/No approval request of pay waits/);
  });

  test('denies a call with a reason', async () => {
    const { duologue, model } = serve([{ call: 'pay', args: { amount: 5 } }, 'I did not pay.']);
    const chat = testClient(duologue, { over });
    await chat.say('Pay 5');
    const denied = await chat.deny({ reason: 'too much' });
    expect(denied.text).toBe('I did not pay.');
    expect(denied.toolCalls).toMatchObject([{ errorText: 'User denied the tool call: too much' }]);
    expect(JSON.stringify(model.lastContents)).toContain('too much');
  });

  test('runs browser tools of the page, and answers others by hand', async () => {
    const { duologue } = serve([{ call: 'locate' }, 'You are in Kyoto.', { call: 'locate' }, 'Thanks.']);
    const page = testClient(duologue, { over, tools: { locate: () => ({ city: 'Kyoto' }) } });
    const found = await page.say('Where am I?');
    expect(found.text).toBe('You are in Kyoto.');
    expect(found.toolCalls).toMatchObject([{ toolName: 'locate', output: { city: 'Kyoto' } }]);
    page.close();
    const other = testClient(duologue, { over, session: page.session });
    const waits = await other.say('And now?');
    expect(waits.text).toBe('');
    const [call] = waits.toolCalls;
    expect((await other.answer(call?.toolCallId ?? '', { city: 'Nara' })).text).toBe('Thanks.');
  });

  test('reports an error of the model, and rejects what the server refuses', async () => {
    const { duologue } = serve([new Error('The model is broken.')]);
    const chat = testClient(duologue, { over });
    const failed = await chat.say('Hi');
    expect(failed.error).toMatch(/\S/);
    await expect(chat.say('')).rejects.toMatchObject({ code: 'empty_message' });
  });

  test('a second page follows the first', async () => {
    const { duologue } = serve([{ call: 'pay', args: { amount: 5 } }, 'Paid.']);
    const one = testClient(duologue, { over });
    const two = testClient(duologue, { over, session: one.session });
    await one.open();
    await two.open();
    await one.say('Pay 5');
    const seen = await two.next();
    expect(seen.approvals).toMatchObject([{ toolName: 'pay' }]);
    await two.approve();
    expect((await one.next()).text).toBe('Paid.');
    expect(two.messages).toEqual(one.messages);
  });

  test('a page with a wrong key is refused', async () => {
    const { duologue } = serve(['Hi'], { apiKey: 'a key of some twenty characters' });
    const chat = testClient(duologue, { over });
    await expect(chat.say('Hi')).rejects.toMatchObject({ code: 'unauthorized' });
    const headers = { 'x-api-key': 'a key of some twenty characters' };
    expect((await testClient(duologue, { over, headers }).say('Hi')).text).toBe('Hi');
  });

  test('a server under a base path is reached', async () => {
    const { duologue } = serve(['Hi'], { basePath: '/api/chat' });
    const chat = testClient(duologue, { over, url: 'http://localhost/api/chat' });
    expect((await chat.say('Hi')).text).toBe('Hi');
  });

  test('stops the agent', async () => {
    let isStopped = false;
    const { duologue } = serve([
      async function* (_request, _stream, signal) {
        yield { content: { role: 'model', parts: [{ text: 'Once upon' }] }, partial: true };
        await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
        isStopped = true;
      },
    ]);
    const chat = testClient(duologue, { over });
    const reported = chat.say('Tell me a story');
    await expect.poll(() => chat.messages.at(-1)?.role).toBe('assistant');
    await chat.stop();
    expect((await reported).text).toBe('Once upon');
    expect(isStopped).toBe(true);
  });

  test('an approval request expires in fake time', async () => {
    const time = new FakeTime();
    const { duologue } = serve([{ call: 'pay', args: { amount: 5 } }, 'Too late.', 'Too late.'], {
      clock: time,
      approvalTimeoutMs: 30_000,
    });
    const chat = testClient(duologue, { over });
    const asked = await chat.say('Pay 5');
    expect(asked.approvals[0]?.expiresAt).toBe(time.now() + 30_000);
    time.advance(30_000);
    await expect.poll(() => chat.approvals).toEqual([]);
    expect(chat.messages.at(-1)?.parts[0]).toMatchObject({ errorText: 'Approval request timed out' });
  });
});

test('a script plays responses of ADK as they are, and says when it is over', async () => {
  const { duologue, model } = serve([
    [{ content: { role: 'model', parts: [{ text: 'As it is.' }] }, partial: false }],
  ]);
  model.add('Added.');
  const chat = testClient(duologue);
  expect((await chat.say('One')).text).toBe('As it is.');
  expect((await chat.say('Two')).text).toBe('Added.');
  expect((await chat.say('Three')).error).not.toBeNull();
});

test('a long-running tool is answered by hand', async () => {
  const start = new LongRunningFunctionTool({
    name: 'build',
    description: 'Builds.',
    parameters: z.object({}),
    execute: () => null,
  });
  const model = scriptModel([{ call: 'build' }, 'It is built.']);
  const agent = new LlmAgent({ name: 'assistant', model, tools: [start] });
  const { duologue } = serve([], { agent });
  const chat = testClient(duologue);
  const started = await chat.say('Build');
  expect(started.toolCalls).toMatchObject([{ toolName: 'build', state: 'input-available' }]);
  const ended = await chat.answer(started.toolCalls[0]?.toolCallId ?? '', { done: true });
  expect(ended).toMatchObject({ text: 'It is built.', toolCalls: [{ output: { done: true } }] });
});
