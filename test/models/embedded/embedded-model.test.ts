import {
  FunctionTool,
  InMemoryRunner,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
  LogLevel,
  StreamingMode,
  setLogLevel,
} from '@google/adk';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { EmbeddedModel, type Rule } from '../../../src/models/embedded/index.ts';
import { piecesOf } from '../../../src/models/embedded/pieces.ts';
import { ask, requestOf, saidIn, user } from './talk.ts';

async function collect(text: string, stream: boolean, signal?: AbortSignal): Promise<LlmResponse[]> {
  const responses: LlmResponse[] = [];
  for await (const response of new EmbeddedModel({ paceMs: 0 }).generateContentAsync(
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
    const responses = await collect('Aliceに30ドル、Bobに40ドル送金してください', true);
    const thought = 'Aliceさんに30ドル、Bobさんに40ドルを送金する依頼だと理解しました。';
    expect(responses.slice(0, -1)).toEqual(piecesOf(thought).map((piece) => partial(piece, true)));
    expect(responses.at(-1)).toEqual({
      content: {
        role: 'model',
        parts: [
          part(thought, true),
          {
            functionCall: {
              name: 'process_payment',
              args: { amount: 30, recipient: 'Alice', currency: 'USD' },
            },
          },
          {
            functionCall: {
              name: 'process_payment',
              args: { amount: 40, recipient: 'Bob', currency: 'USD' },
            },
          },
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
      const said = saidIn(responses.at(-1));
      expect(pieces.map((piece) => (piece.thought ? piece.text : '')).join('')).toBe(said.thought);
      expect(pieces.map((piece) => (piece.thought ? '' : piece.text)).join('')).toBe(said.text);
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

  test('a rule of your own comes before the built-in ones', async () => {
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
      return saidIn(last);
    };
    await say(requestOf([user('my name is Ken')]));
    await say(requestOf([user('send money to Bob')]));
    expect((await say(requestOf([user('what is my name?')]))).text).toBe(
      'You have not told me your name yet.',
    );
    expect((await say(requestOf([user('50 dollars')]))).calls).toEqual([]);
  });

  test('a request is not changed', async () => {
    const request = requestOf([user('send $50 to Bob')]);
    const before = structuredClone({ contents: request.contents, config: request.config });
    for await (const _ of new EmbeddedModel({ paceMs: 0 }).generateContentAsync(request, true));
    expect({ contents: request.contents, config: request.config }).toEqual(before);
  });

  test('an empty request is answered', async () => {
    expect((await ask([])).text).toMatch(/^I did not understand that/);
  });
});

describe('live, turn by turn', () => {
  test('a call that waits is mentioned, and its late result is told', async () => {
    const connection = await new EmbeddedModel({ paceMs: 0 }).connect(requestOf([]));
    const received = connection.receive();
    const nextFinal = async (): Promise<LlmResponse> => {
      for (let count = 0; count < 100; count += 1) {
        const { value } = await received.next();
        if (value?.content && !value.partial) return value;
      }
      throw new Error('No final response came.');
    };

    await connection.sendContent(user('send $50 to Bob'));
    const called = await nextFinal();
    const call = called.content?.parts?.find((one) => one.functionCall)?.functionCall;
    await connection.sendContent(user('thanks'));
    const meanwhile = saidIn(await nextFinal());
    const response = { success: true, amount: 50, recipient: 'Bob', currency: 'USD', wallet_balance: 950 };
    await connection.sendContent({
      role: 'user',
      parts: [{ functionResponse: { id: call?.id ?? '', name: 'process_payment', response } }],
    });
    const late = saidIn(await nextFinal());
    await connection.sendContent(user('balance'));
    const afterwards = saidIn(await nextFinal());
    await connection.close();

    expect([saidIn(called).calls, meanwhile.text, late.text, afterwards.text]).toEqual([
      [['process_payment', { amount: 50, recipient: 'Bob', currency: 'USD' }]],
      'You are welcome!\n\n(The payment of $50 to Bob is waiting for your approval.)',
      'I sent $50 to Bob.',
      'After the last payment I know of, the balance was $950.',
    ]);
  });
});

describe('pace and abort', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('each piece waits for the pace', async () => {
    const seen: string[] = [];
    const reading = (async () => {
      for await (const response of new EmbeddedModel({ paceMs: 10, thinks: false }).generateContentAsync(
        requestOf([user('count to 3')]),
        true,
      )) {
        seen.push(response.partial ? saidIn(response).text : 'final');
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
      for await (const response of new EmbeddedModel({ paceMs: 60_000 }).generateContentAsync(
        requestOf([user('tell me a story')]),
        true,
        stop.signal,
      )) {
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

describe('with the real ADK', () => {
  setLogLevel(LogLevel.ERROR);
  const ledger: unknown[] = [];
  const tools = () => [
    new FunctionTool({
      name: 'get_weather',
      description: 'The weather.',
      parameters: z.object({ location: z.string() }),
      execute: ({ location }) => ({
        location,
        temperature: 18,
        condition: 'Cloudy',
        humidity: 65,
        sample: true,
      }),
    }),
    new FunctionTool({
      name: 'process_payment',
      description: 'Pays.',
      parameters: z.object({ amount: z.number(), recipient: z.string(), currency: z.string() }),
      execute: (args) => {
        ledger.push(args);
        return {
          success: true,
          transaction_id: `txn_${ledger.length}`,
          ...args,
          wallet_balance: 1000 - args.amount,
        };
      },
    }),
  ];

  async function run(messages: string[], abortAt?: string): Promise<{ finals: unknown[]; partials: string }> {
    const runner = new InMemoryRunner({
      agent: new LlmAgent({ name: 'assistant', model: new EmbeddedModel({ paceMs: 0 }), tools: tools() }),
      appName: 'test',
    });
    const session = await runner.sessionService.createSession({ appName: 'test', userId: 'u' });
    const finals: unknown[] = [];
    let partials = '';
    for (const message of messages) {
      const stop = new AbortController();
      for await (const event of runner.runAsync({
        userId: 'u',
        sessionId: session.id,
        newMessage: { role: 'user', parts: [{ text: message }] },
        runConfig: { streamingMode: StreamingMode.SSE },
        abortSignal: stop.signal,
      })) {
        const parts = event.content?.parts ?? [];
        if (event.partial) {
          partials += parts.map(({ text, thought }) => (thought ? '' : text)).join('');
          if (abortAt !== undefined && message === messages[0] && partials.endsWith(abortAt)) stop.abort();
          continue;
        }
        for (const { text, thought, functionCall, functionResponse } of parts) {
          if (functionCall) finals.push(['call', functionCall.name, functionCall.args]);
          else if (functionResponse) finals.push(['response', functionResponse.name]);
          else if (!thought) finals.push(text);
        }
      }
    }
    return { finals, partials };
  }

  test('the weather is asked, looked up and told', async () => {
    expect(await run(['東京の天気を教えて'])).toEqual({
      finals: [
        ['call', 'get_weather', { location: 'Tokyo' }],
        ['response', 'get_weather'],
        '東京の天気は曇り、気温18℃、湿度65%です。（これはサンプルデータで、実際の観測値ではありません。）',
      ],
      partials:
        '東京の天気は曇り、気温18℃、湿度65%です。（これはサンプルデータで、実際の観測値ではありません。）',
    });
  });

  test('two payments are two calls in one response, and the conversation goes on from there', async () => {
    ledger.length = 0;
    const { finals } = await run([
      'Aliceに30ドル、Bobに40ドル送金してください',
      '残高は？',
      'Carolにも同じ額を送って',
    ]);
    expect(finals).toEqual([
      ['call', 'process_payment', { amount: 30, recipient: 'Alice', currency: 'USD' }],
      ['call', 'process_payment', { amount: 40, recipient: 'Bob', currency: 'USD' }],
      ['response', 'process_payment'],
      ['response', 'process_payment'],
      'Aliceさんに30ドル、Bobさんに40ドルを送金しました。',
      'わかっている最後の残高は960ドルです。',
      ['call', 'process_payment', { amount: 40, recipient: 'Carol', currency: 'USD' }],
      ['response', 'process_payment'],
      'Carolさんに40ドルを送金しました。',
    ]);
    expect(ledger).toEqual([
      { amount: 30, recipient: 'Alice', currency: 'USD' },
      { amount: 40, recipient: 'Bob', currency: 'USD' },
      { amount: 40, recipient: 'Carol', currency: 'USD' },
    ]);
  });

  test('what is missing is asked for and the answer completes it', async () => {
    ledger.length = 0;
    const { finals } = await run(['send money to Bob', '50 dollars']);
    expect(finals).toEqual([
      'How much should I send to Bob?',
      ['call', 'process_payment', { amount: 50, recipient: 'Bob', currency: 'USD' }],
      ['response', 'process_payment'],
      'I sent $50 to Bob.',
    ]);
  });

  test('a tool the agent does not have is not called', async () => {
    expect((await run(['where am I?'])).finals).toEqual([
      'I cannot find out where you are: this agent has no location tool.',
    ]);
  });

  test('an abort leaves no final event, and the next message is answered', async () => {
    const { finals, partials } = await run(['count to 500', 'thanks'], '41 42 ');
    expect(finals).toEqual(['You are welcome!']);
    expect(partials.startsWith('1 2 3 ')).toBe(true);
    expect(partials.includes(' 50 ')).toBe(false);
  });
});
