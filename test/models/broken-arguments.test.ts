import { type BaseLlm, FunctionTool, LlmAgent } from '@google/adk';
import { MockLanguageModelV3, simulateReadableStream } from 'ai/test';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import { fromAiSdk } from '../../src/models/index.ts';
import type { DuologueOptions } from '../../src/server/index.ts';
import { harness, say } from '../support/harness.ts';
import { live } from '../support/live.ts';
import { call, ScriptedModel, streamed } from '../support/scripted-model.ts';

const UNREADABLE = 'The arguments of the call could not be read';
const parameters = z.object({ amount: z.number().default(5) });

/** Tools that would run with their defaults: of every kind, and one of ADK's own. */
function tools(ran: string[]) {
  const execute = (name: string) => () => ran.push(name);
  const base = { description: 'Does something', parameters };
  return [
    defineTool({ ...base, name: 'plain', execute: execute('plain') }),
    defineTool({ ...base, name: 'asking', needsApproval: true, execute: execute('asking') }),
    defineTool({ ...base, name: 'browser', runsOn: 'client', optimistic: execute('browser') }),
    new FunctionTool({ ...base, name: 'native', execute: execute('native') }),
    new FunctionTool({
      ...base,
      name: 'confirmed',
      requireConfirmation: true,
      execute: execute('confirmed'),
    }),
  ];
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};

type Streamed = Awaited<ReturnType<MockLanguageModelV3['doStream']>>['stream'];
type Part = Streamed extends ReadableStream<infer P> ? P : never;
type Finish = 'stop' | 'tool-calls' | 'length';

/** A model that makes one call with this text as its arguments, and speaks once that is answered. */
function calling(toolName: string, input: string, unified: Finish = 'tool-calls') {
  const shown: unknown[] = [];
  const model = new MockLanguageModelV3({
    doStream: async ({ prompt }) => {
      shown.push(prompt.at(-1));
      const reason = shown.length === 1 ? unified : 'stop';
      const texts: Part =
        shown.length === 1
          ? { type: 'tool-call', toolCallId: 'call_1', toolName, input }
          : { type: 'text-delta', id: '1', delta: 'Sorry.' };
      const finish: Part = { type: 'finish', finishReason: { unified: reason, raw: reason }, usage };
      const chunks = [texts, finish];
      return { stream: simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null }) };
    },
  });
  return { model: fromAiSdk(model), shown };
}

const agentOf = (model: BaseLlm, ran: string[]) =>
  new LlmAgent({ name: 'assistant', model, tools: tools(ran) });

const NAMES = ['plain', 'asking', 'browser', 'native', 'confirmed'];
const expected = (toolName: string) => [
  { type: 'tool-input-start', toolCallId: 'call_1', toolName, toolMetadata: expect.anything() },
  {
    type: 'tool-input-available',
    toolCallId: 'call_1',
    toolName,
    input: {},
    toolMetadata: expect.anything(),
  },
  { type: 'tool-output-error', toolCallId: 'call_1', errorText: UNREADABLE },
];

describe.each([
  ['cut off', '{"amount": 50', 'length'],
  ['broken', '{"amount": 50,, }', 'tool-calls'],
  ['a list', '[50]', 'tool-calls'],
  ['text', '"50"', 'stop'],
  ['missing because the tokens ran out', '', 'length'],
  ['missing because the tokens ran out, as some providers say it', '{}', 'length'],
] as const)('a call whose arguments are %s', (_name, input, finish) => {
  it.each(NAMES)('[T5a] never runs over SSE: %s', async (name) => {
    const ran: string[] = [];
    const { model, shown } = calling(name, input, finish);
    const { post } = harness([], [], { agent: agentOf(model, ran) });
    const { chunks } = await post(say('hi'));
    expect(ran).toEqual([]);
    expect(chunks.filter(({ type }) => type.startsWith('tool-'))).toEqual(expected(name));
    expect(chunks).toContainEqual({ type: 'text-delta', id: expect.any(String), delta: 'Sorry.' });
    expect(shown[1]).toMatchObject({
      role: 'tool',
      content: [{ toolName: name, output: { type: 'error-text', value: UNREADABLE } }],
    });
  });

  it.each(NAMES)('[T5a] never runs over BIDI: %s', async (name) => {
    const ran: string[] = [];
    const { model, shown } = calling(name, input, finish);
    const { connect } = await live([], [], { agent: agentOf(model, ran) });
    const socket = await connect();
    socket.say('hi');
    await socket.done();
    expect(ran).toEqual([]);
    expect(socket.chunks.filter(({ type }) => type.startsWith('tool-'))).toEqual(expected(name));
    expect(socket.chunks).toContainEqual({ type: 'text-delta', id: expect.any(String), delta: 'Sorry.' });
    expect(shown).toHaveLength(2);
    socket.close();
  });
});

describe('a call without arguments', () => {
  it.each(['', '{}', 'null', ' '])('runs when the model says that it is whole: %j', async (input) => {
    const ran: string[] = [];
    const { post } = harness([], [], { agent: agentOf(calling('plain', input).model, ran) });
    await post(say('hi'));
    expect(ran).toEqual(['plain']);
  });
});

describe('the confirmation dialect', () => {
  it('[T5a] [T21] shows no confirmation for a call that cannot be read', async () => {
    const ran: string[] = [];
    const options: Partial<DuologueOptions> = {
      agent: agentOf(calling('asking', '{"amount":').model, ran),
      confirmations: 'tool',
    };
    const { chunks } = await harness([], [], options).post(say('hi'));
    expect(chunks.filter(({ type }) => type.startsWith('tool-'))).toEqual(expected('asking'));
  });
});

it('[T5a] a model of another kind that runs out of tokens at the name of a tool does not run it either', async () => {
  const ran: string[] = [];
  const cut = {
    ...call('plain', {}, 'call_1'),
    finishReason: 'MAX_TOKENS' as never,
    errorCode: 'MAX_TOKENS',
  };
  const model = new ScriptedModel([[cut], streamed('Sorry.')]);
  const { chunks } = await harness([], [], { agent: agentOf(model, ran) }).post(say('hi'));
  expect(ran).toEqual([]);
  expect(chunks.filter(({ type }) => type.startsWith('tool-'))).toEqual(expected('plain'));
});
