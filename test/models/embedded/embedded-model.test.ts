import type { LlmRequest, LlmResponse } from '@google/adk';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SAMPLE_TEXTS } from '../../../demo/server/sample-texts.ts';
import { piecesOf } from '../../../src/models/embedded/embedded-model.ts';
import { EmbeddedModel, type Rule, say, troubleText } from '../../../src/models/embedded/index.ts';
import { CONTINUE } from '../../../src/models/for-server.ts';
import { answered, ask, called, model, requestOf, textsIn, user } from './talk.ts';

/** "Order 2 teas": a rule as an application writes one, for a tool that must not run twice by mistake. */
const order: Rule = {
  name: 'order',
  match({ text, language }) {
    const found = [...text.matchAll(/order (\d+) (\w+)|(\w+)を(\d+)つ/g)];
    if (found.length === 0) return null;
    return {
      thought: say(language, 'An order.', '注文です。'),
      calls: found.map(([, count, item, itemJa, countJa]) => ({
        name: 'order',
        args: { item: item ?? itemJa, count: Number(count ?? countJa) },
      })),
    };
  },
  tool: {
    name: 'order',
    report: (settled, { language }) =>
      settled
        .map(({ call: { args }, outcome }) => {
          const subject = { en: `the order of ${args.count} ${args.item}`, ja: '注文' };
          return (
            troubleText(language, subject, outcome, [[/sold out/, '売り切れです。']]) ??
            say(language, `I ordered ${args.count} ${args.item}.`, '注文しました。')
          );
        })
        .join(' '),
    again: () => ({ thought: 'Again?', text: 'Please say the whole order.' }),
  },
  ability: {
    does: { en: 'order drinks', ja: '注文' },
    example: { en: 'drinks: “Order 2 teas”', ja: '飲み物' },
  },
};
const withOrders = { rules: [order, ...SAMPLE_TEXTS] };

async function collect(text: string, stream: boolean, signal?: AbortSignal): Promise<LlmResponse[]> {
  const responses: LlmResponse[] = [];
  for await (const response of new EmbeddedModel({ paceMs: 0, ...withOrders }).generateContentAsync(
    requestOf([user(text)]),
    stream,
    signal,
  )) {
    responses.push(response);
  }
  return responses;
}

const part = (text: string, thought = false) => (thought ? { text, thought: true } : { text });
const partial = (text: string, thought = false) => ({
  content: { role: 'model', parts: [part(text, thought)] },
  partial: true,
});

describe('the shape of an answer', () => {
  test('a streamed text is a thought and words in pieces, then one final response with all of it', async () => {
    expect(await collect('thanks', true)).toEqual([
      partial('The ', true),
      partial('person ', true),
      partial('thanks ', true),
      partial('me.', true),
      partial('You '),
      partial('are '),
      partial('welcome!'),
      {
        content: { role: 'model', parts: [part('The person thanks me.', true), part('You are welcome!')] },
        partial: false,
        finishReason: 'STOP',
        modelVersion: 'duologue-embedded',
      },
    ]);
  });

  test('calls are only in the final response and have no ids', async () => {
    const responses = await collect('order 2 teas and order 1 coffee', true);
    const thought = 'An order.';
    expect(responses.slice(0, -1)).toEqual(piecesOf(thought).map((piece) => partial(piece, true)));
    expect(responses.at(-1)).toEqual({
      content: {
        role: 'model',
        parts: [
          part(thought, true),
          { functionCall: { name: 'order', args: { item: 'teas', count: 2 } } },
          { functionCall: { name: 'order', args: { item: 'coffee', count: 1 } } },
        ],
      },
      partial: false,
      finishReason: 'STOP',
      modelVersion: 'duologue-embedded',
    });
  });

  test('without streaming there is only the final response', async () => {
    const streamed = await collect('tell me a story', true);
    expect(await collect('tell me a story', false)).toEqual(streamed.slice(-1));
    expect(streamed.length).toBeGreaterThan(200);
  });

  test.each(['tell me a story', '長い話をして', 'show markdown', 'count to 30', 'help', '🙂'])(
    'the pieces of the answer to `%s` are its text',
    async (text) => {
      const responses = await collect(text, true);
      const pieces = responses.slice(0, -1).flatMap((response) => response.content?.parts ?? []);
      const texts = textsIn(responses.at(-1));
      expect(pieces.map((piece) => (piece.thought ? piece.text : '')).join('')).toBe(texts.thought);
      expect(pieces.map((piece) => (piece.thought ? '' : piece.text)).join('')).toBe(texts.text);
    },
  );

  test('Japanese is spoken a few signs at a time', () => {
    expect(piecesOf('花子さんに50ドルを送金しました。')).toEqual([
      '花子さ',
      'んに',
      '50',
      'ドルを',
      '送金し',
      'ました',
      '。',
    ]);
  });

  test('a model that does not think says the same without a thought', async () => {
    expect(await ask('thanks', undefined, { thinks: false })).toEqual({
      thought: '',
      text: 'You are welcome!',
      calls: [],
    });
  });

  test('a rule of your own comes before general talk', async () => {
    const dice: Rule = {
      name: 'dice',
      match: ({ text }) => (text === 'roll' ? { thought: 'A die.', text: '4' } : null),
    };
    expect(await ask('roll', undefined, { rules: [dice] })).toEqual({
      thought: 'A die.',
      text: '4',
      calls: [],
    });
    expect((await ask('thanks', undefined, { rules: [dice] })).text).toBe('You are welcome!');
  });

  test('the model keeps nothing between two calls', async () => {
    const embedded = new EmbeddedModel({ paceMs: 0 });
    const say = async (request: LlmRequest) => {
      let last: LlmResponse | undefined;
      for await (const response of embedded.generateContentAsync(request)) last = response;
      return textsIn(last);
    };
    await say(requestOf([user('my name is Ken')]));
    expect((await say(requestOf([user('what is my name?')]))).text).toBe(
      'You have not told me your name yet.',
    );
  });

  test('a request is not changed', async () => {
    const request = requestOf([user('order 2 teas')]);
    const before = structuredClone({ contents: request.contents, config: request.config });
    for await (const _ of new EmbeddedModel({ paceMs: 0 }).generateContentAsync(request, true));
    expect({ contents: request.contents, config: request.config }).toEqual(before);
  });

  test('what is not understood again is answered with one example, not with the whole list', async () => {
    const first = await ask([user('glorp')], ['order'], withOrders);
    expect(first.text).toContain('I can help with:');
    const second = await ask([user('glorp'), model(first.text), user('blargh')], ['order'], withOrders);
    expect(second.text).toMatch(/^I did not understand that either\. One thing that I can do: /);
    expect(second.text.split('\n')).toHaveLength(1);
  });

  test('an empty request is answered', async () => {
    expect((await ask([])).text).toMatch(/^I did not understand that/);
  });
});

describe('live, turn by turn', () => {
  test('a call that waits is mentioned, and its late result is told', async () => {
    const connection = await new EmbeddedModel({ paceMs: 0, ...withOrders }).connect(
      requestOf([], ['order']),
    );
    const received = connection.receive();
    const nextFinal = async (): Promise<LlmResponse> => {
      for (let count = 0; count < 100; count += 1) {
        const { value } = await received.next();
        if (value?.content && !value.partial) return value;
      }
      throw new Error('No final response came.');
    };

    await connection.sendContent(user('order 2 teas'));
    const called = await nextFinal();
    const call = called.content?.parts?.find((one) => one.functionCall)?.functionCall;
    await connection.sendContent(user('thanks'));
    const meanwhile = textsIn(await nextFinal());
    await connection.sendContent({
      role: 'user',
      parts: [{ functionResponse: { id: call?.id ?? '', name: 'order', response: { success: true } } }],
    });
    const late = textsIn(await nextFinal());
    await connection.close();

    expect([textsIn(called).calls, meanwhile.text, late.text]).toEqual([
      [['order', { item: 'teas', count: 2 }]],
      'You are welcome!\n\n(The order of 2 teas is still waiting for you.)',
      'I ordered 2 teas.',
    ]);
  });
});

describe('the rules of an application', () => {
  const ordered = (response: Record<string, unknown>) => [
    user('order 2 teas'),
    called(['order', { item: 'teas', count: 2 }]),
    answered(['order', response]),
    model('…'),
  ];

  test('are named in a greeting and in help, as far as the agent has their tools', async () => {
    expect((await ask('hello', ['order'], withOrders)).text).toBe(
      'Hello! I can order drinks. What would you like?',
    );
    expect((await ask('hello', [], withOrders)).text).toBe('Hello! What would you like?');
    expect((await ask('help', ['order'], withOrders)).text).toContain('- drinks: “Order 2 teas”\n');
    expect((await ask('help', [], withOrders)).text).not.toContain('drinks');
  });

  test.each([
    [{ success: true }, []],
    [{ error: 'Outcome unknown' }, []],
    [{ error: 'sold out' }, [['order', { item: 'teas', count: 2 }]]],
  ])('after %j a mere "again" makes these calls: %j', async (response, calls) => {
    const texts = await ask([...ordered(response), user('again')], ['order'], withOrders);
    expect(texts.calls).toEqual(calls);
    expect(texts.text).toBe(calls.length === 0 ? 'Please say the whole order.' : '');
  });

  test('call nothing that must not run twice when a sentence beside it takes it back', async () => {
    const careful = { rules: [{ ...order, match: onlySentences(order.match) }] };
    expect((await ask('Order 2 teas. Thanks!', ['order'], careful)).calls.length).toBe(1);
    expect((await ask('Order 2 teas. No, stop!', ['order'], careful)).calls).toEqual([]);
  });

  test('tell reasons in Japanese when they know them', async () => {
    const texts = await ask(
      [
        user('茶を2つ'),
        called(['order', { item: '茶', count: 2 }]),
        answered(['order', { error: 'sold out' }]),
      ],
      ['order'],
      withOrders,
    );
    expect(texts.text).toBe('注文は失敗しました：売り切れです。');
  });
});

/** Matches a message only when it is one sentence. */
function onlySentences(match: Rule['match']): Rule['match'] {
  return (context) =>
    /[.!] /.test(context.text) ? null : match({ ...context, text: context.text.toLowerCase() });
}

describe('pace and abort', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('each piece waits for the pace', async () => {
    const seen: string[] = [];
    const reading = (async () => {
      for await (const response of new EmbeddedModel({
        paceMs: 10,
        thinks: false,
        rules: SAMPLE_TEXTS,
      }).generateContentAsync(requestOf([user('count to 3')]), true)) {
        seen.push(response.partial ? textsIn(response).text : 'final');
      }
    })();
    await vi.advanceTimersByTimeAsync(0);
    expect(seen).toEqual(['1 ']);
    await vi.advanceTimersByTimeAsync(10);
    expect(seen).toEqual(['1 ', '2 ']);
    await vi.advanceTimersByTimeAsync(20);
    await reading;
    expect(seen).toEqual(['1 ', '2 ', '3', 'final']);
  });

  test('an abort ends the answer at once, even in the middle of a wait, without a final response', async () => {
    const stop = new AbortController();
    const seen: LlmResponse[] = [];
    const reading = (async () => {
      for await (const response of new EmbeddedModel({
        paceMs: 60_000,
        rules: SAMPLE_TEXTS,
      }).generateContentAsync(requestOf([user('tell me a story')]), true, stop.signal)) {
        seen.push(response);
      }
    })();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(seen.length).toBe(2);
    stop.abort();
    await reading;
    expect(seen.length).toBe(2);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('an answer that was cut', () => {
  test('is continued where it stopped, again if need be', async () => {
    const once = await ask([user('count to 6'), model('1 2 3'), user(CONTINUE)]);
    expect(once.text).toBe(' 4 5 6');
    const cutAgain = [user('count to 6'), model('1 2'), user(CONTINUE), model(' 3 4'), user(CONTINUE)];
    expect((await ask(cutAgain)).text).toBe(' 5 6');
  });

  test('after a tool result is continued with the rest of its text, and calls no tool again', async () => {
    const args = { item: 'teas', count: 2 };
    const contents = [user('order 2 teas'), called(['order', args]), answered(['order', { ok: true }])];
    const { text } = await ask(contents, ['order'], withOrders);
    const rest = await ask([...contents, model(text.slice(0, 5)), user(CONTINUE)], ['order'], withOrders);
    expect(rest).toEqual({ thought: '', text: text.slice(5), calls: [] });
  });

  test('that the rules would not give again says so', async () => {
    const { text } = await ask([user('count to 3'), model('Well, '), user(CONTINUE)]);
    expect(text).toContain('cannot continue');
  });
});
