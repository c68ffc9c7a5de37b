import { FunctionTool, type LlmRequest } from '@google/adk';
import { FunctionCallingConfigMode, Type } from '@google/genai';
import { MockLanguageModelV3, MockLanguageModelV4, simulateReadableStream } from 'ai/test';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type AiSdkModel, fromAiSdk } from '../../src/models/ai-sdk.ts';
import { type CallOptions, toCallOptions } from '../../src/models/ai-sdk-prompt.ts';
import { partial, text } from '../support/scripted-model.ts';
import { plain, TestRun } from './support/runs.ts';

type V3Call = Parameters<MockLanguageModelV3['doStream']>[0];
type V4Call = Parameters<MockLanguageModelV4['doStream']>[0];
type V3Part =
  Awaited<ReturnType<MockLanguageModelV3['doStream']>>['stream'] extends ReadableStream<infer P> ? P : never;
type V4Part =
  Awaited<ReturnType<MockLanguageModelV4['doStream']>>['stream'] extends ReadableStream<infer P> ? P : never;

const usage = {
  inputTokens: { total: 10, noCache: 4, cacheRead: 4, cacheWrite: 2 },
  outputTokens: { total: 9, text: 6, reasoning: 3 },
};
const finish = (unified: 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'error' | 'other' = 'stop') =>
  ({ type: 'finish', finishReason: { unified, raw: undefined }, usage }) as const;

/** A model of either contract that plays these turns; what it was asked is in `asked`. */
function scripted(version: 'v3' | 'v4', ...turns: (V3Part & V4Part)[][]) {
  const asked: CallOptions[] = [];
  const next = (options: unknown) => {
    asked.push(options as CallOptions);
    const chunks = turns.shift() ?? [];
    return { stream: simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null }) };
  };
  const model: AiSdkModel =
    version === 'v3'
      ? new MockLanguageModelV3({ modelId: 'm3', doStream: async (options: V3Call) => next(options) })
      : new MockLanguageModelV4({ modelId: 'm4', doStream: async (options: V4Call) => next(options) });
  return { model: fromAiSdk(model), asked };
}

const weather = new FunctionTool({
  name: 'weather',
  description: 'The weather in a city.',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, sky: 'clear' }),
});

describe.each(['v3', 'v4'] as const)('an AI SDK model of contract %s', (version) => {
  test('streams text and thoughts, and ends with all of it and the usage', async () => {
    const { model } = scripted(version, [
      { type: 'stream-start', warnings: [] },
      { type: 'response-metadata', modelId: 'm-2026' },
      { type: 'reasoning-start', id: '1' },
      { type: 'reasoning-delta', id: '1', delta: 'hm' },
      { type: 'reasoning-end', id: '1', providerMetadata: { anthropic: { signature: 'sig' } } },
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'Hel' },
      { type: 'text-delta', id: '1', delta: 'lo' },
      { type: 'text-end', id: '1' },
      { type: 'source', sourceType: 'url', id: 's', url: 'https://example.com', title: 'Example' },
      finish(),
    ]);
    const events = await new TestRun(model).say('hi');
    expect(events.map(plain)).toEqual([
      partial('hm', true),
      partial('Hel'),
      partial('lo'),
      {
        content: {
          role: 'model',
          parts: [
            { text: 'hm', thought: true, partMetadata: { aiSdk: { anthropic: { signature: 'sig' } } } },
            { text: 'Hello' },
          ],
        },
        partial: false,
        finishReason: 'STOP',
        usageMetadata: {
          promptTokenCount: 10,
          cachedContentTokenCount: 4,
          cache_write_tokens: 2,
          candidatesTokenCount: 6,
          thoughtsTokenCount: 3,
          totalTokenCount: 19,
        },
        groundingMetadata: { groundingChunks: [{ web: { uri: 'https://example.com', title: 'Example' } }] },
      },
    ]);
    expect(events.at(-1)?.modelVersion).toBe('m-2026');
  });

  test('calls a tool and is shown its result under the same id', async () => {
    const { model, asked } = scripted(
      version,
      [
        { type: 'tool-input-start', id: 'call_1', toolName: 'weather' },
        { type: 'tool-input-delta', id: 'call_1', delta: '{"city":' },
        { type: 'tool-call', toolCallId: 'call_1', toolName: 'weather', input: '{"city":"Rome"}' },
        finish('tool-calls'),
      ],
      [{ type: 'text-delta', id: '1', delta: 'Clear.' }, finish()],
    );
    const events = await new TestRun(model, { tools: [weather] }).say('weather in Rome?');
    expect(events.at(-1)).toMatchObject(text('Clear.'));
    expect(asked[1]?.prompt.slice(1)).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'weather in Rome?' }] },
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: 'call_1', toolName: 'weather', input: { city: 'Rome' } }],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'call_1',
            toolName: 'weather',
            output: { type: 'json', value: { city: 'Rome', sky: 'clear' } },
          },
        ],
      },
    ]);
    expect(asked[0]?.prompt[0]).toMatchObject({ role: 'system' });
    expect(asked[0]?.tools).toEqual([
      {
        type: 'function',
        name: 'weather',
        description: 'The weather in a city.',
        inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      },
    ]);
  });

  test('is live too, turn by turn', async () => {
    const { model } = scripted(version, [{ type: 'text-delta', id: '1', delta: 'Hi.' }, finish()]);
    const live = await new TestRun(model, { stock: true }).live();
    live.say('hi');
    await live.until((run) => run.turns === 1);
    await live.close();
    expect(live.events[0]).toMatchObject(partial('Hi.'));
  });

  test.each([
    ['length', 'MAX_TOKENS'],
    ['content-filter', 'SAFETY'],
    ['error', 'OTHER'],
  ] as const)('that ends because of %s says %s', async (unified, code) => {
    const { model } = scripted(version, [{ type: 'text-delta', id: '1', delta: 'Hm' }, finish(unified)]);
    expect((await new TestRun(model).say('hi')).at(-1)).toMatchObject({
      ...text('Hm'),
      finishReason: code,
      errorCode: code,
    });
  });

  test('that says nothing is an error', async () => {
    const { model } = scripted(version, [finish()]);
    expect(await new TestRun(model).say('hi')).toMatchObject([{ errorCode: 'EMPTY_RESPONSE' }]);
  });

  test('that fails in mid-stream is an error with the status, and keeps what was read', async () => {
    const error = Object.assign(new Error('Overloaded'), { statusCode: 529 });
    const { model } = scripted(version, [
      { type: 'text-delta', id: '1', delta: 'Hel' },
      { type: 'error', error },
    ]);
    expect((await new TestRun(model).say('hi')).map(plain)).toEqual([
      partial('Hel'),
      { ...text('Hel'), errorCode: '529', errorMessage: 'Overloaded' },
    ]);
  });

  test('whose stream breaks off is an error, keeps what was read and makes no call', async () => {
    const { model } = scripted(version, [
      { type: 'text-delta', id: '1', delta: 'Hel' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'weather', input: '{"city":"Rome"}' },
      finish('other'),
    ]);
    expect((await new TestRun(model, { tools: [weather] }).say('hi')).map(plain)).toEqual([
      partial('Hel'),
      {
        ...text('Hel'),
        errorCode: 'INCOMPLETE',
        errorMessage: 'The stream of the model ended before the answer was complete.',
      },
    ]);
  });

  test('that fails with an object instead of an error is told in its words', async () => {
    const { model } = scripted(version, [
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    ]);
    expect((await new TestRun(model).say('hi')).map(plain)).toEqual([
      { errorCode: '529', errorMessage: 'Overloaded', partial: false },
    ]);
  });

  test.each([
    [
      'in its stream',
      (error: Error) => ({ stream: simulateReadableStream({ chunks: [{ type: 'error', error }] }) }),
    ],
    ['of the call', (error: Error) => Promise.reject(error)],
  ])('that fails with an error %s says nothing of the given secrets', async (_where, fail) => {
    const failing: AiSdkModel = {
      specificationVersion: version,
      provider: 'local',
      modelId: 'm',
      doStream: async () => fail(new Error('overloaded: hunter2-hunter2 is busy')),
    };
    const model = fromAiSdk(failing, { secrets: ['hunter2-hunter2'] });
    const request: LlmRequest = { contents: [], liveConnectConfig: {}, toolsDict: {} };
    const reading = model.generateContentAsync(request, true).next();
    await expect(reading).rejects.toThrow('overloaded: … is busy');
  });

  test('leaves alone what the provider ran itself', async () => {
    const { model } = scripted(version, [
      { type: 'tool-call', toolCallId: 'p', toolName: 'search', input: '{}', providerExecuted: true },
      { type: 'text-delta', id: '1', delta: 'Found.' },
      finish(),
    ]);
    const events = await new TestRun(model, { tools: [weather] }).say('hi');
    expect(events.at(-1)?.content?.parts).toEqual([{ text: 'Found.' }]);
  });

  test('ends quietly when it is aborted', async () => {
    const abort = new AbortController();
    const model: AiSdkModel = {
      specificationVersion: version,
      provider: 'p',
      modelId: 'm',
      doStream: async ({ abortSignal }: { abortSignal: AbortSignal }) => {
        setImmediate(() => abort.abort());
        return {
          stream: new ReadableStream({
            start: (controller) => {
              abortSignal.addEventListener('abort', () => controller.error(abortSignal.reason));
            },
          }),
        };
      },
    };
    const llm = fromAiSdk(model);
    const request: LlmRequest = { contents: [], liveConnectConfig: {}, toolsDict: {} };
    const seen: unknown[] = [];
    for await (const response of llm.generateContentAsync(request, true, abort.signal)) seen.push(response);
    expect(seen).toEqual([]);
  });
});

describe('a picture', () => {
  const file = { type: 'file', mediaType: 'image/png' } as const;

  test.each([
    ['v3', 'QUJD'],
    ['v4', { type: 'data', data: 'QUJD' }],
  ] as const)('is shown to a model of contract %s, and taken from it', async (version, data) => {
    const out =
      version === 'v3' ? new Uint8Array([65, 66, 67]) : { type: 'data', data: new Uint8Array([65, 66, 67]) };
    const { model, asked } = scripted(version, [{ ...file, data: out } as never, finish()]);
    const picture = { inlineData: { mimeType: 'image/png', data: 'QUJD' } };
    const events = await new TestRun(model).say([picture, { text: 'What?' }]);
    expect(asked[0]?.prompt.at(-1)).toEqual({
      role: 'user',
      content: [
        { ...file, data },
        { type: 'text', text: 'What?' },
      ],
    });
    expect(events.at(-1)?.content?.parts).toEqual([picture]);
  });
});

describe('files of a message', () => {
  test.each(['v3', 'v4'] as const)(
    'a PDF is a file for a model of contract %s, and a CSV a text',
    async (version) => {
      const { model, asked } = scripted(version, [finish()]);
      const pdf = { inlineData: { mimeType: 'application/pdf', data: 'JVBERi0=', displayName: 'a.pdf' } };
      const csv = { inlineData: { mimeType: 'text/csv', data: 'YSxi', displayName: 'a.csv' } };
      await new TestRun(model).say([pdf, csv]);
      const data = version === 'v3' ? 'JVBERi0=' : { type: 'data', data: 'JVBERi0=' };
      expect(asked[0]?.prompt.at(-1)?.content).toEqual([
        { type: 'file', mediaType: 'application/pdf', filename: 'a.pdf', data },
        { type: 'text', text: '[file a.csv, text/csv]\na,b\n[end of the file]' },
      ]);
    },
  );
});

describe('a request', () => {
  const base = { liveConnectConfig: {}, toolsDict: {} };

  test('whose calls lost their ids gets new ones, matched by name and order', () => {
    const call = (name: string) => ({ functionCall: { name, args: {} } });
    const response = (name: string, value: Record<string, unknown>) => ({
      functionResponse: { name, response: value },
    });
    const { prompt } = toCallOptions(
      {
        ...base,
        contents: [
          { role: 'model', parts: [call('a'), call('b'), call('a')] },
          {
            role: 'user',
            parts: [response('a', { n: 1 }), response('a', { error: 'no' }), response('b', {})],
          },
        ],
      },
      'v3',
    );
    expect(
      prompt.flatMap(({ content }) => (typeof content === 'string' ? [] : (content as unknown[]))),
    ).toMatchObject([
      { toolCallId: 'call_adk_0', toolName: 'a' },
      { toolCallId: 'call_adk_1', toolName: 'b' },
      { toolCallId: 'call_adk_2', toolName: 'a' },
      { toolCallId: 'call_adk_0', output: { type: 'json', value: { n: 1 } } },
      { toolCallId: 'call_adk_2', output: { type: 'error-text', value: 'no' } },
      { toolCallId: 'call_adk_1', output: { type: 'json', value: {} } },
    ]);
  });

  test('gives back what a provider said about its parts', () => {
    const partMetadata = { aiSdk: { openai: { itemId: 'rs_1' } } };
    const parts = [{ text: '', thought: true, partMetadata }, { text: 'Hi.' }];
    const { prompt } = toCallOptions({ ...base, contents: [{ role: 'model', parts }] }, 'v3');
    expect(prompt).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: '', providerOptions: { openai: { itemId: 'rs_1' } } },
          { type: 'text', text: 'Hi.' },
        ],
      },
    ]);
  });

  test('leaves out a message of thoughts alone, which broke off before a word came of them', () => {
    const contents = [
      { role: 'user', parts: [{ text: 'a' }] },
      { role: 'model', parts: [{ text: 'Hm', thought: true }] },
      { role: 'user', parts: [{ text: 'b' }] },
    ];
    expect(toCallOptions({ ...base, contents }, 'v3').prompt.map(({ role }) => role)).toEqual([
      'user',
      'user',
    ]);
  });

  test("passes settings, a response schema, and Google's tool schemas as JSON Schema", () => {
    const options = toCallOptions(
      {
        ...base,
        contents: [
          {
            role: 'user',
            parts: [{ fileData: { fileUri: 'https://example.com/a.png', mimeType: 'image/png' } }],
          },
        ],
        config: {
          systemInstruction: { parts: [{ text: 'One.' }, { text: 'Two.' }] },
          temperature: 0.5,
          maxOutputTokens: 7,
          seed: 1,
          responseSchema: { type: Type.OBJECT, properties: { type: { type: Type.STRING, nullable: true } } },
          toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } },
          tools: [
            {
              functionDeclarations: [
                {
                  name: 't',
                  parameters: {
                    type: Type.OBJECT,
                    properties: {
                      nullable: {
                        type: Type.ARRAY,
                        minItems: '1',
                        items: { type: Type.STRING, enum: ['A'] },
                      },
                    },
                  },
                },
                { name: 'none' },
              ],
            },
            { googleSearch: {} },
          ],
        },
      },
      'v4',
    );
    expect(options).toEqual({
      prompt: [
        { role: 'system', content: 'One.\nTwo.' },
        {
          role: 'user',
          content: [
            {
              type: 'file',
              mediaType: 'image/png',
              data: { type: 'url', url: new URL('https://example.com/a.png') },
            },
          ],
        },
      ],
      temperature: 0.5,
      maxOutputTokens: 7,
      seed: 1,
      responseFormat: {
        type: 'json',
        schema: { type: 'object', properties: { type: { type: ['string', 'null'] } } },
      },
      tools: [
        {
          type: 'function',
          name: 't',
          inputSchema: {
            type: 'object',
            properties: { nullable: { type: 'array', minItems: 1, items: { type: 'string', enum: ['A'] } } },
          },
        },
        { type: 'function', name: 'none', inputSchema: { type: 'object', properties: {} } },
      ],
      toolChoice: { type: 'required' },
    });
  });
});

test('a model of an older contract is refused in words', () => {
  const old = {
    specificationVersion: 'v2',
    provider: 'p',
    modelId: 'm',
    doStream: () => Promise.reject(new Error()),
  };
  expect(() => fromAiSdk(old)).toThrow(
    "The model p/m implements version v2 of the AI SDK's model interface. Duologue supports v3 (ai 6) and v4 (ai 7): install a version of the provider's package for one of them.",
  );
});
