import { createEvent, FunctionTool, LlmAgent, type LlmResponse } from '@google/adk';
import type { Content } from '@google/genai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { PENDING_RESPONSE } from '../../../src/adk/history.ts';
import { withLiveFacts } from '../../../src/adk/live-facts.ts';
import { TurnBasedLiveConnection } from '../../../src/models/live/turn-based.ts';
import { noticeOf } from '../../../src/models/prompt-texts.ts';
import {
  call,
  calls,
  partial,
  ScriptedModel,
  type ScriptedTurn,
  streamed,
  text,
} from '../../support/scripted-model.ts';
import { DeferredTool } from '../support/deferred-tool.ts';
import { lines, plain, TestRun } from '../support/runs.ts';

const PENDING = JSON.stringify(PENDING_RESPONSE);

/** A turn that says something and then hangs until it is aborted; `reached` resolves once it has said it. */
function hanging(...pieces: string[]): {
  turn: ScriptedTurn;
  reached: Promise<void>;
  signal: () => AbortSignal;
} {
  let signal: AbortSignal | undefined;
  let reach = () => {};
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  return {
    reached,
    signal: () => {
      if (!signal) throw new Error('not called yet');
      return signal;
    },
    turn: async function* (_request, _stream, given) {
      signal = given;
      for (const piece of pieces) yield partial(piece);
      reach();
      await new Promise(() => {});
    },
  };
}

describe('a live run on a model that has no live connection', () => {
  test('streams an answer and completes the turn, again and again', async () => {
    const model = new ScriptedModel([
      [partial('Hel'), { ...text('Hello'), usageMetadata: { totalTokenCount: 4 } }],
      streamed('Bye'),
    ]);
    const live = await new TestRun(model).live();
    live.say('hi');
    await live.until((run) => run.turns === 1);
    live.say('bye');
    await live.until((run) => run.turns === 2);
    await live.close();
    expect(live.error).toBeUndefined();
    expect(live.seen).toEqual([
      partial('Hel'),
      { ...text('Hello'), usageMetadata: { totalTokenCount: 4 } },
      { turnComplete: true },
      partial('Bye'),
      text('Bye'),
      { turnComplete: true },
    ]);
    expect(lines(model.lastContents)).toEqual(['user: hi', 'model: Hello', 'user: bye']);
  });

  test('runs a plain tool and goes on with its result', async () => {
    const model = new ScriptedModel([[call('add', { a: 1, b: 2 })], [text('3')]]);
    const add = new FunctionTool({
      name: 'add',
      description: 'adds',
      parameters: z.object({ a: z.number(), b: z.number() }),
      execute: ({ a, b }) => ({ sum: a + b }),
    });
    const live = await new TestRun(model, { tools: [add] }).live();
    live.say('1 + 2?');
    await live.until((run) => run.turns === 1);
    await live.close();
    expect(lines(model.lastContents)).toEqual([
      'user: 1 + 2?',
      'model: call add',
      'user: response add {"sum":3}',
    ]);
  });

  test('gives every call an id of its own that is not one of ADK', async () => {
    const model = new ScriptedModel([
      [calls({ name: 'ask', id: 'adk-1' }, { name: 'ask' }, { name: 'ask', id: 'mine' })],
      [call('ask', {}, 'mine')],
      [text('done')],
    ]);
    const live = await new TestRun(model, { tools: [new DeferredTool('ask')] }).live();
    live.say('go');
    await live.until((run) => run.calls.length === 3);
    for (const { id } of live.calls) live.answer(id, 'ask', { ok: true });
    await live.until((run) => run.calls.length === 4);
    const ids = live.calls.map(({ id }) => id);
    expect(new Set(ids).size).toBe(4);
    expect(ids.map((id) => id.replace(/\d+$/, 'N'))).toEqual([
      'function-call-N',
      'function-call-N',
      'mine',
      'function-call-N',
    ]);
    const shown = model.lastContents.flatMap((content) =>
      (content.parts ?? []).map((part) => part.functionCall?.id ?? part.functionResponse?.id),
    );
    expect(shown).toEqual([undefined, ...ids.slice(0, 3), ...ids.slice(0, 3)]);
    await live.close();
  });

  test('waits until all calls of a step are answered, one by one, in any order', async () => {
    const model = new ScriptedModel([[calls({ name: 'a' }, { name: 'b' }, { name: 'c' })], [text('All.')]]);
    const tools = ['a', 'b', 'c'].map((name) => new DeferredTool(name));
    const live = await new TestRun(model, { tools }).live();
    live.say('go');
    await live.until((run) => run.calls.length === 3);
    const [a, b, c] = live.calls.map(({ id }) => id) as [string, string, string];
    live.answer(c, 'c', { n: 3 });
    live.answer(a, 'a', { n: 1 });
    live.answer(a, 'a', { n: 'again' });
    expect(model.requests).toHaveLength(1);
    live.answer(b, 'b', { n: 2 });
    await live.until((run) => run.turns === 1);
    await live.close();
    expect(lines(model.lastContents)).toEqual([
      'user: go',
      'model: call a | call b | call c',
      'user: response a {"n":1} | response b {"n":2} | response c {"n":3}',
    ]);
    expect(model.requests).toHaveLength(2);
  });

  test('answers what is typed while a call is open; the late answer comes with a notice', async () => {
    const model = new ScriptedModel([
      [call('pay', { amount: 5 })],
      [text('It is sunny.')],
      [text('Paid, by the way.')],
      [text('Fine.')],
    ]);
    const live = await new TestRun(model, { tools: [new DeferredTool('pay')] }).live();
    live.say('pay');
    await live.until((run) => run.calls.length === 1);
    live.say('weather?');
    await live.until((run) => run.turns === 1);
    expect(lines(model.lastContents)).toEqual([
      'user: pay',
      'model: call pay',
      `user: response pay ${PENDING}`,
      'user: weather?',
    ]);
    live.answer(live.calls[0]?.id ?? '', 'pay', { ok: true });
    await live.until((run) => run.turns === 2);
    const notice = noticeOf('pay', { amount: 5 }, { ok: true });
    expect(lines(model.lastContents)).toEqual([
      'user: pay',
      'model: call pay',
      'user: response pay {"ok":true}',
      'user: weather?',
      'model: It is sunny.',
      `user: ${notice}`,
    ]);
    expect(live.events.some((event) => event.interrupted)).toBe(false);
    live.say('good');
    await live.until((run) => run.turns === 3);
    await live.close();
    expect(lines(model.lastContents).slice(-2)).toEqual(['model: Paid, by the way.', 'user: good']);
  });

  test('a late answer waits for the generation that is going on', async () => {
    let release = () => {};
    const model = new ScriptedModel([
      [call('pay')],
      async function* () {
        yield partial('It is');
        await new Promise<void>((resolve) => {
          release = resolve;
        });
        yield text('It is sunny.');
      },
      [text('Paid.')],
    ]);
    const live = await new TestRun(model, { tools: [new DeferredTool('pay')] }).live();
    live.say('pay');
    await live.until((run) => run.calls.length === 1);
    live.say('weather?');
    await live.until((run) => run.events.some((event) => event.partial));
    live.answer(live.calls[0]?.id ?? '', 'pay', { ok: true });
    await Promise.resolve();
    release();
    await live.until((run) => run.turns === 2);
    await live.close();
    expect(live.seen.slice(-5)).toEqual([
      partial('It is'),
      text('It is sunny.'),
      { turnComplete: true },
      text('Paid.'),
      { turnComplete: true },
    ]);
    expect(lines(model.lastContents).slice(-2)).toEqual([
      'model: It is sunny.',
      `user: ${noticeOf('pay', {}, { ok: true })}`,
    ]);
  });

  test('a message during a generation interrupts it; what was said stays said', async () => {
    const first = hanging('Once ', 'upon');
    const model = new ScriptedModel([first.turn, [text('OK.')]]);
    const live = await new TestRun(model).live();
    live.say('a story');
    await first.reached;
    live.say('stop');
    await live.until((run) => run.turns === 1);
    await live.close();
    expect(first.signal().aborted).toBe(true);
    expect(live.seen).toEqual([
      partial('Once '),
      partial('upon'),
      text('Once upon'),
      { interrupted: true },
      text('OK.'),
      { turnComplete: true },
    ]);
    expect(lines(model.lastContents)).toEqual(['user: a story', 'model: Once upon', 'user: stop']);
  });

  test('an interruption ends generation and turn, and nothing is said until the person speaks', async () => {
    const first = hanging('Once');
    const model = new ScriptedModel([first.turn, [text('Yes?')]]);
    const live = await new TestRun(model).live();
    live.say('a story');
    await first.reached;
    live.queue.sendActivityStart();
    await live.until((run) => run.turns === 1);
    expect(live.seen).toEqual([partial('Once'), text('Once'), { interrupted: true }, { turnComplete: true }]);
    live.queue.sendActivityStart();
    live.say('hey');
    await live.until((run) => run.turns === 3);
    await live.close();
    expect(live.seen.slice(4)).toEqual([
      { turnComplete: true, isIdle: true },
      text('Yes?'),
      { turnComplete: true },
    ]);
  });

  test('an interruption while calls are open ends the turn; calls settled by it ask for nothing', async () => {
    const model = new ScriptedModel([[calls({ name: 'a' }, { name: 'b' })], [text('Yes?')]]);
    const live = await new TestRun(model, { tools: [new DeferredTool('a'), new DeferredTool('b')] }).live();
    live.say('go');
    await live.until((run) => run.calls.length === 2);
    const [a, b] = live.calls.map(({ id }) => id) as [string, string];
    live.answer(a, 'a', { n: 1 });
    live.queue.sendActivityStart();
    await live.until((run) => run.turns === 1);
    live.answer(b, 'b', { error: 'Interrupted', interrupted: true });
    live.say('hey');
    await live.until((run) => run.turns === 2);
    await live.close();
    expect(live.seen.slice(1)).toEqual([
      { interrupted: true },
      { turnComplete: true },
      text('Yes?'),
      { turnComplete: true },
    ]);
    expect(lines(model.lastContents)).toEqual([
      'user: go',
      'model: call a | call b',
      'user: response a {"n":1} | response b {"error":"Interrupted","interrupted":true}',
      'user: hey',
    ]);
  });

  test('calls settled by an interruption do not call the model even without the signal', async () => {
    const model = new ScriptedModel([[call('a')], [text('Yes?')]]);
    const live = await new TestRun(model, { tools: [new DeferredTool('a')] }).live();
    live.say('go');
    await live.until((run) => run.calls.length === 1);
    live.answer(live.calls[0]?.id ?? '', 'a', { error: 'Interrupted', interrupted: true });
    live.say('hey');
    await live.until((run) => run.turns === 1);
    await live.close();
    expect(model.requests).toHaveLength(2);
    expect(live.events.some((event) => event.interrupted)).toBe(false);
  });

  test('answers a call of a tool that does not exist beside one that waits', async () => {
    const model = new ScriptedModel([[calls({ name: 'nope' }, { name: 'pay' })], [text('Sorry.')]]);
    const live = await new TestRun(model, { tools: [new DeferredTool('pay')] }).live();
    live.say('go');
    await live.until((run) => run.events.length === 2);
    expect(model.requests).toHaveLength(1);
    live.answer(live.calls[1]?.id ?? '', 'pay', { ok: true });
    await live.until((run) => run.turns === 1);
    await live.close();
    expect(live.error).toBeUndefined();
    expect(lines(model.lastContents).at(-1)).toContain('There is no tool named \\"nope\\".');
    expect(lines(model.lastContents).at(-1)).toContain('response pay {"ok":true}');
  });

  test('tells errors and lives on', async () => {
    const model = new ScriptedModel([
      [new Error('kaput')],
      [Object.assign(new Error('Busy'), { status: 503 })],
      [],
      [text('Back.')],
    ]);
    const live = await new TestRun(model).live();
    for (const turn of [1, 2, 3, 4]) {
      live.say('hi');
      await live.until((run) => run.turns === turn);
    }
    await live.close();
    expect(live.events.map((event) => event.errorCode ?? event.content?.parts?.[0]?.text ?? 'end')).toEqual([
      'MODEL_ERROR',
      'end',
      '503',
      'end',
      'EMPTY_RESPONSE',
      'end',
      'Back.',
      'end',
    ]);
    expect(plain(live.events[0] ?? createEvent())).toEqual({
      errorCode: 'MODEL_ERROR',
      errorMessage: 'kaput',
    });
  });

  test('starts from the history: an open call of it is answered late, by its name', async () => {
    const model = new ScriptedModel([[text('Paid.')]]);
    const run = new TestRun(model, { tools: [new DeferredTool('pay')] });
    const session = await run.session();
    const contents: [string, Content][] = [
      ['user', { role: 'user', parts: [{ text: 'pay twice' }] }],
      [
        'assistant',
        {
          role: 'model',
          parts: [1, 2].map((amount) => ({
            functionCall: { name: 'pay', args: { amount }, id: `adk-${amount}` },
          })),
        },
      ],
      [
        'assistant',
        {
          role: 'user',
          parts: [
            { functionResponse: { name: 'pay', id: 'adk-1', response: { ok: 1 } } },
            { functionResponse: { name: 'pay', id: 'adk-2', response: { ...PENDING_RESPONSE } } },
          ],
        },
      ],
    ];
    for (const [author, content] of contents) {
      await run.sessionService.appendEvent({ session, event: createEvent({ author, content }) });
    }
    const live = await run.live();
    live.answer('adk-2', 'pay', { ok: 2 });
    await live.until((one) => one.turns === 1);
    await live.close();
    expect(lines(model.lastContents)).toEqual([
      'user: pay twice',
      'model: call pay | call pay',
      'user: response pay {"ok":1} | response pay {"ok":2}',
      `user: ${noticeOf('pay', { amount: 2 }, { ok: 2 })}`,
    ]);
  });

  test('says nothing about a history that ends with the person, until they speak', async () => {
    const model = new ScriptedModel([[text('Yes.')]]);
    const run = new TestRun(model);
    const session = await run.session();
    const content = { role: 'user', parts: [{ text: 'anyone?' }] };
    await run.sessionService.appendEvent({ session, event: createEvent({ author: 'user', content }) });
    const live = await run.live();
    live.say('hello?');
    await live.until((one) => one.turns === 1);
    await live.close();
    expect(lines(model.lastContents)).toEqual(['user: anyone?', 'user: hello?']);
    expect(model.requests).toHaveLength(1);
  });

  test('an agent that the conversation is handed to speaks first', async () => {
    const helper = new ScriptedModel([[text('Helper here.')]]);
    const model = new ScriptedModel([[call('transfer_to_agent', { agentName: 'helper' })]]);
    const subAgent = new LlmAgent({ name: 'helper', description: 'helps', model: helper });
    const live = await new TestRun(model, { subAgents: [subAgent] }).live();
    live.say('help');
    await live.until((run) => run.turns === 1);
    await live.close();
    expect(live.seen.slice(-2)).toEqual([text('Helper here.'), { turnComplete: true }]);
    expect(model.requests).toHaveLength(1);
  });

  test('closing ends run and generation', async () => {
    const first = hanging('Once');
    const model = new ScriptedModel([first.turn]);
    const live = await new TestRun(model).live();
    live.say('a story');
    await first.reached;
    await live.close();
    expect(first.signal().aborted).toBe(true);
    expect(live.error).toBeUndefined();
    expect(live.seen).toEqual([partial('Once')]);
  });
});

describe('the connection by itself', () => {
  const request = () => ({ contents: [], liveConnectConfig: {}, toolsDict: {} });

  async function drain(connection: TurnBasedLiveConnection): Promise<LlmResponse[]> {
    await connection.close();
    const all: LlmResponse[] = [];
    for await (const response of connection.receive()) all.push(response);
    return all;
  }

  test('stops a model that calls tools without end', async () => {
    const model = new ScriptedModel([[call('a')], [call('a')], [text('never')]]);
    const connection = new TurnBasedLiveConnection(model, request(), { maxCalls: 2 });
    await connection.sendContent({ role: 'user', parts: [{ text: 'go' }] });
    const seen: LlmResponse[] = [];
    for await (const response of connection.receive()) {
      seen.push(response);
      const made = response.content?.parts?.[0]?.functionCall;
      if (made) {
        await connection.sendContent({
          parts: [{ functionResponse: { id: made.id ?? '', name: 'a', response: {} } }],
        });
      }
      if (response.turnComplete) break;
    }
    expect(seen.slice(2).map(({ customMetadata: _, ...rest }) => rest)).toEqual([
      {
        errorCode: 'TOO_MANY_CALLS',
        errorMessage:
          'The model was called 2 times without a message of the user in between, so its turn was ended.',
      },
      { turnComplete: true },
    ]);
    expect(model.left).toBe(1);
  });

  test('hears no sound and does nothing after it was closed', async () => {
    const model = new ScriptedModel([[text('never')]]);
    const connection = new TurnBasedLiveConnection(model, request());
    await connection.sendRealtime({ mimeType: 'audio/pcm', data: '' });
    await connection.sendActivityEnd();
    await connection.sendActivityStart();
    expect(await drain(connection)).toEqual([
      { turnComplete: true, ...withLiveFacts({ continues: false, wasIdle: true }) },
    ]);
    await connection.sendContent({ role: 'user', parts: [{ text: 'hi' }] });
    expect(model.requests).toEqual([]);
  });

  test('knows the history also when ADK has a handle to resume from and does not send it', async () => {
    const model = new ScriptedModel([[text('Yes.')]]);
    const connection = new TurnBasedLiveConnection(model, {
      ...request(),
      contents: [{ role: 'user', parts: [{ text: 'before' }] }],
      liveConnectConfig: { sessionResumption: { handle: 'H' } },
    });
    await connection.sendContent({ role: 'user', parts: [{ text: 'now' }] });
    expect(lines(model.lastContents)).toEqual(['user: before', 'user: now']);
    await connection.close();
  });

  test('an answer to a call that nobody knows is told as a notice, unless it was interrupted', async () => {
    const model = new ScriptedModel([[text('Good.')]]);
    const connection = new TurnBasedLiveConnection(model, request());
    const response = (given: Record<string, unknown>): Content => ({
      parts: [{ functionResponse: { id: 'lost', name: 'pay', response: given } }],
    });
    await connection.sendContent(response({ error: 'Interrupted', interrupted: true }));
    expect(model.requests).toEqual([]);
    await connection.sendContent(response({ ok: true }));
    expect(lines(model.lastContents)).toEqual([`user: ${noticeOf('pay', {}, { ok: true })}`]);
    await connection.close();
  });
});
