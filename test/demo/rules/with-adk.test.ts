import { FunctionTool, InMemoryRunner, LlmAgent, LogLevel, StreamingMode, setLogLevel } from '@google/adk';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { EmbeddedModel } from '../../../src/models/index.ts';
import { rules } from '../support/agent.ts';

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
      agent: new LlmAgent({
        name: 'assistant',
        model: new EmbeddedModel({ paceMs: 0, rules }),
        tools: tools(),
      }),
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
