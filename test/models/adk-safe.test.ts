import { BaseLlm, FunctionTool, type LlmRequest, type LlmResponse } from '@google/adk';
import { FinishReason } from '@google/genai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { adkSafe } from '../../src/models/adk-safe.ts';
import { call, calls, partial, ScriptedModel, streamed, text } from '../support/scripted-model.ts';
import { lines, plain, TestRun } from './support/runs.ts';

function request(): LlmRequest {
  return { contents: [{ role: 'user', parts: [{ text: 'hi' }] }], liveConnectConfig: {}, toolsDict: {} };
}

async function collect(source: AsyncIterable<LlmResponse>): Promise<LlmResponse[]> {
  const all: LlmResponse[] = [];
  for await (const response of source) all.push(response);
  return all;
}

function echo(name: string, seen: unknown[] = []): FunctionTool {
  return new FunctionTool({
    name,
    description: name,
    parameters: z.object({}).loose(),
    execute: (args) => {
      seen.push(args);
      return { ran: name };
    },
  });
}

describe('one model call', () => {
  test('gives its partial texts and then one final response with everything in it', async () => {
    const model = new ScriptedModel([
      [
        partial('hm', true),
        partial('Let me '),
        partial('look.'),
        {
          content: { role: 'model', parts: [{ text: 'hm', thought: true }, { text: 'Let me look.' }] },
          usageMetadata: { totalTokenCount: 3 },
          partial: false,
        },
        call('weather', { city: 'Rome' }, 'a'),
        call('weather', { city: 'Oslo' }, 'b'),
        { usageMetadata: { totalTokenCount: 9 }, finishReason: FinishReason.STOP },
      ],
    ]);
    expect(await collect(adkSafe(model).generateContentAsync(request(), true))).toEqual([
      partial('hm', true),
      partial('Let me '),
      partial('look.'),
      {
        content: {
          role: 'model',
          parts: [
            { text: 'hm', thought: true },
            { text: 'Let me look.' },
            { functionCall: { name: 'weather', args: { city: 'Rome' }, id: 'a' } },
            { functionCall: { name: 'weather', args: { city: 'Oslo' }, id: 'b' } },
          ],
        },
        usageMetadata: { totalTokenCount: 9 },
        finishReason: 'STOP',
        partial: false,
      },
    ]);
  });

  test('gives no partial responses when they are not asked for', async () => {
    const model = new ScriptedModel([streamed('Hel', 'lo')]);
    expect(await collect(adkSafe(model).generateContentAsync(request()))).toEqual([text('Hello')]);
  });

  test('keeps calls out of partial responses', async () => {
    const both: LlmResponse = {
      content: { role: 'model', parts: [{ text: 'Hm' }, { functionCall: { name: 'pay', args: {} } }] },
      partial: true,
    };
    const model = new ScriptedModel([[both, { ...call('pay'), partial: true }, { ...both, partial: false }]]);
    expect(await collect(adkSafe(model).generateContentAsync(request(), true))).toEqual([
      partial('Hm'),
      { ...both, partial: false },
    ]);
  });

  test('puts streamed text into the final response when the model leaves it out', async () => {
    const model = new ScriptedModel([[partial('Hel'), partial('lo'), call('pay', {}, 'x')]]);
    const [final] = (await collect(adkSafe(model).generateContentAsync(request(), true))).slice(-1);
    expect(final?.content?.parts).toEqual([
      { text: 'Hello' },
      { functionCall: { name: 'pay', args: {}, id: 'x' } },
    ]);
  });

  test.each<[string, LlmResponse[]]>([
    ['nothing', []],
    ['only usage', [{ usageMetadata: { totalTokenCount: 1 } }]],
    ['only an empty text', [text('')]],
    [
      'only a finish reason, which ADK takes for an error',
      [{ errorCode: 'STOP', finishReason: FinishReason.STOP }],
    ],
  ])('that returns %s is an error', async (_, responses) => {
    const model = new ScriptedModel([responses]);
    const [only, ...more] = await collect(adkSafe(model).generateContentAsync(request(), true));
    expect(more).toEqual([]);
    expect(only).toMatchObject({
      errorCode: 'EMPTY_RESPONSE',
      errorMessage: 'The model returned no content. It may have blocked the prompt.',
      partial: false,
    });
  });

  test('keeps an error code that the model gave, with what it said', async () => {
    const model = new ScriptedModel([
      [text('Once upon'), { errorCode: 'MAX_TOKENS', finishReason: FinishReason.MAX_TOKENS }],
    ]);
    expect(await collect(adkSafe(model).generateContentAsync(request(), true))).toEqual([
      { ...text('Once upon'), errorCode: 'MAX_TOKENS', finishReason: 'MAX_TOKENS' },
    ]);
  });

  test('turns an HTTP error into a final response that keeps what was read and makes no call', async () => {
    const refusal = Object.assign(new Error('{"error":{"code":429,"message":"Slow down."}}'), {
      status: 429,
    });
    const model = adkSafe(new ScriptedModel([[refusal], [partial('Hel'), call('pay'), refusal]]), {
      retryPolicy: { retries: 0 },
    });
    expect(await collect(model.generateContentAsync(request(), true))).toEqual([
      { errorCode: '429', errorMessage: 'Slow down.', partial: false },
    ]);
    expect(await collect(model.generateContentAsync(request(), true))).toEqual([
      partial('Hel'),
      { ...text('Hel'), errorCode: '429', errorMessage: 'Slow down.' },
    ]);
  });

  test('throws what is no HTTP error', async () => {
    const model = new ScriptedModel([[new Error('kaput')]]);
    await expect(collect(adkSafe(model).generateContentAsync(request(), true))).rejects.toThrow('kaput');
  });

  test('ends quietly when it is aborted, even if the model neither listens nor yields', async () => {
    const abort = new AbortController();
    const model = new ScriptedModel([
      async function* () {
        yield partial('Hel');
        await new Promise(() => {});
      },
    ]);
    const seen: LlmResponse[] = [];
    for await (const response of adkSafe(model).generateContentAsync(request(), true, abort.signal)) {
      seen.push(response);
      queueMicrotask(() => abort.abort());
    }
    expect(seen).toEqual([partial('Hel')]);
  });

  test('ends quietly when the model throws because it is aborted', async () => {
    const abort = new AbortController();
    const model = new ScriptedModel([
      async function* (_request, _stream, signal) {
        yield partial('Hel');
        await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
      },
    ]);
    const seen: LlmResponse[] = [];
    for await (const response of adkSafe(model).generateContentAsync(request(), true, abort.signal)) {
      seen.push(response);
      queueMicrotask(() => abort.abort());
    }
    expect(seen).toEqual([partial('Hel')]);
  });
});

describe('ids of calls', () => {
  test('are taken away where they were used before, in the conversation or in the same response', async () => {
    const model = new ScriptedModel([
      [calls({ name: 'a', id: 'old' }, { name: 'b', id: 'new' }, { name: 'c', id: 'new' }, { name: 'd' })],
    ]);
    const history = request();
    history.contents.unshift({ role: 'model', parts: [{ functionCall: { name: 'a', id: 'old' } }] });
    const [final] = await collect(adkSafe(model).generateContentAsync(history));
    expect(final?.content?.parts?.map((part) => part.functionCall)).toEqual([
      { name: 'a', args: {} },
      { name: 'b', args: {}, id: 'new' },
      { name: 'c', args: {} },
      { name: 'd', args: {} },
    ]);
  });

  test('a model that numbers its calls from zero in every turn keeps a sound history', async () => {
    const model = new ScriptedModel([
      [call('echo', { n: 1 }, 'call_0')],
      [text('one')],
      [call('echo', { n: 2 }, 'call_0')],
      [text('two')],
    ]);
    const run = new TestRun(model, { tools: [echo('echo')] });
    await run.say('first');
    await run.say('second');
    expect(lines(model.lastContents)).toEqual([
      'user: first',
      'model: call echo',
      'user: response echo {"ran":"echo"}',
      'model: one',
      'user: second',
      'model: call echo',
      'user: response echo {"ran":"echo"}',
    ]);
    const made = model.lastContents.flatMap(
      (content) => content.parts?.map((part) => part.functionCall?.args) ?? [],
    );
    expect(made.filter(Boolean)).toEqual([{ n: 1 }, { n: 2 }]);
  });
});

describe('a turn of a real ADK run', () => {
  test('with several finals and a trailing usage has one final event and runs each call once', async () => {
    const ran: unknown[] = [];
    const model = new ScriptedModel([
      [
        partial('Wait.'),
        text('Wait.'),
        call('echo', { n: 1 }),
        call('echo', { n: 2 }),
        { usageMetadata: { totalTokenCount: 5 } },
      ],
      streamed('Do', 'ne'),
    ]);
    const events = await new TestRun(model, { tools: [echo('echo', ran)] }).say('go');
    expect(ran).toEqual([{ n: 1 }, { n: 2 }]);
    expect(events.map((event) => [event.partial ?? false, event.content?.parts?.length])).toEqual([
      [true, 1],
      [false, 3],
      [false, 2],
      [true, 1],
      [true, 1],
      [false, 1],
    ]);
    expect(model.left).toBe(0);
  });

  test.each(['nope', 'toString', '__proto__'])(
    'answers a call of a tool that does not exist: %s',
    async (name) => {
      const model = new ScriptedModel([[call(name)], [text('Sorry.')]]);
      const events = await new TestRun(model).say('go');
      const [, answer, last] = events.map(plain);
      expect(answer).toMatchObject({
        content: {
          parts: [
            {
              functionResponse: {
                name,
                response: { error: expect.stringContaining(`There is no tool named "${name}".`) },
              },
            },
          ],
        },
      });
      expect(last).toMatchObject({ content: { parts: [{ text: 'Sorry.' }] } });
      expect(events).toHaveLength(3);
      expect(model.requests).toHaveLength(2);
    },
  );

  test('answers a call without a name', async () => {
    const model = new ScriptedModel([[call('')], [text('Sorry.')]]);
    const events = await new TestRun(model).say('go');
    expect(events.map((event) => event.errorCode)).toEqual([undefined, undefined, undefined]);
  });

  test('ends quietly when it is aborted', async () => {
    const abort = new AbortController();
    const model = new ScriptedModel([
      async function* () {
        yield partial('Hel');
        abort.abort();
        await new Promise(() => {});
      },
    ]);
    const events = await new TestRun(model).say('go', abort.signal);
    expect(events.map(plain)).toEqual([partial('Hel')]);
  });

  test('tells an HTTP error by its status', async () => {
    const model = new ScriptedModel([[Object.assign(new Error('Busy'), { statusCode: 503 })]]);
    const events = await new TestRun(model).say('go');
    expect(events.map(plain)).toEqual([{ errorCode: '503', errorMessage: 'Busy', partial: false }]);
  });
});

describe('wrapping', () => {
  test('twice changes nothing', () => {
    const once = adkSafe(new ScriptedModel());
    expect(adkSafe(once)).toBe(once);
    expect(once.model).toBe('scripted');
  });

  test('reaches every agent that has its own model, once', () => {
    const [own, other] = [new ScriptedModel(), new ScriptedModel()];
    const inner = new TestRun(other, { stock: true }).agent.clone({ name: 'inner' });
    const heir = inner.clone({ name: 'heir', model: undefined as never });
    const run = new TestRun(own, { subAgents: [inner, heir] });
    const first = [run.agent.model, inner.model, heir.model];
    expect(first.map((model) => model instanceof BaseLlm)).toEqual([true, true, false]);
    expect(first[0]).not.toBe(own);
    expect(heir.canonicalModel).toBe(run.agent.model);
  });

  test('a model given by name is made when it is first used', async () => {
    const run = new TestRun('there-is-no-such-model');
    expect(run.agent.model).toMatchObject({ model: 'there-is-no-such-model' });
    const events = await run.say('hi').catch((error: unknown) => error);
    expect(String((events as Error).message ?? JSON.stringify(events))).toContain(
      'there-is-no-such-model not found',
    );
  });
});
