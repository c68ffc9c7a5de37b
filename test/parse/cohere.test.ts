import { readFileSync } from 'node:fs';
import { type ParsedResponse, parse } from 'duologue/parse';
import { detect, usageOf } from 'duologue/parse/pieces';
import { describe, expect, it } from 'vitest';

const load = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../fixtures/responses/${name}.json`, import.meta.url), 'utf8'))
    .response;
const codes = (record: ParsedResponse) => record.warnings.map((warning) => warning.code);
const body = (finish_reason: string, message: object = { content: [{ type: 'text', text: 'Hi' }] }) => ({
  id: 'c',
  finish_reason,
  message: { role: 'assistant', ...message },
  usage: { tokens: { input_tokens: 3, output_tokens: 1 } },
});
const delta = (index: number | undefined, content: object) => ({
  type: 'content-delta',
  index,
  delta: { message: { content } },
});
const toolEvent = (type: string, tool_calls: object, index?: number) => ({
  type: `tool-call-${type}`,
  index,
  delta: { message: { tool_calls } },
});

describe('Cohere v2 chat', () => {
  it('is told from a single choice of OpenAI by the spelling of the finish reason', () => {
    expect(detect(body('COMPLETE'))).toEqual({ api: 'cohere.chat', event: false, confidence: 'shape' });
    expect(detect(body('stop'))).toBeNull();
    expect(detect(load('cohere_stream')[6])).toEqual({
      api: 'cohere.chat',
      event: true,
      confidence: 'named',
    });
  });

  it.each([
    ['COMPLETE', 'stop'],
    ['STOP_SEQUENCE', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['TOOL_CALL', 'tool_calls'],
    ['ERROR', 'error'],
    ['TIMEOUT', 'error'],
  ])('%s finishes as %s', (reason, finish) => {
    const record = parse(body(reason));
    expect(record).toMatchObject({ api: 'cohere.chat', text: 'Hi', stopReason: reason, finish });
    expect(codes(record)).toEqual([]);
  });

  it('counts all tokens, the cached ones among them, and keeps those that are billed apart', () => {
    expect(parse(load('cohere_chat')).usage).toEqual({
      input: 245,
      inputUncached: 101,
      cacheRead: 144,
      cacheWrite: null,
      output: 11,
      outputText: 11,
      reasoning: null,
      total: 256,
      reported: { input: 245, output: 11, total: null },
      billed: { input: 31, output: 9 },
      source: 'body',
    });
    expect(usageOf({ billed_units: { input_tokens: 5, output_tokens: 2 } })).toMatchObject({
      input: 5,
      output: 2,
    });
  });

  it('has one citation for each source, with the title, address and text of the source', () => {
    const { citations, content } = parse(load('cohere_chat'));
    const document = {
      type: 'document',
      url: 'https://example.com/penguins',
      title: 'Tall penguins',
      text: 'Emperor penguins are the tallest.',
    };
    expect(citations).toMatchObject([
      { ...document, raw: { start: 4, end: 19 } },
      { ...document, raw: { start: 24, end: 30 } },
      { type: 'tool', url: null, title: null, raw: { start: 24, end: 30 } },
    ]);
    expect(content).toMatchObject([{ type: 'text', citations: [{}, {}, {}] }]);
  });

  it('gives the plan for its tools as thinking, before the calls', () => {
    const { thinking, text, content } = parse(load('cohere_tool_calls'));
    expect({ thinking, text }).toEqual({ thinking: 'I will look up the weather and the time.', text: '' });
    expect(content.map((part) => part.type)).toEqual(['reasoning', 'tool_call', 'tool_call']);
  });

  it('keeps the thoughts, text, plan, calls and citations of a stream that is cut anywhere', () => {
    const answer = load('cohere_stream');
    expect(parse(answer.slice(0, 3))).toMatchObject({ id: 'c3', thinking: 'Tallest: ', complete: false });
    expect(parse(answer.slice(0, -1))).toMatchObject({
      thinking: 'Tallest: emperor.',
      text: 'The emperor penguin',
      citations: [{ title: 'Tall penguins' }],
      finish: 'incomplete',
      usage: null,
    });
    const calls = load('cohere_stream_tool_calls');
    expect(parse(calls.slice(0, 5))).toMatchObject({
      thinking: 'I will look.',
      toolUses: [{ name: 'get_weather', input: '{"city":', inputValid: false }],
      warnings: [{ code: 'tool_args_truncated' }, { code: 'stream_incomplete' }],
    });
  });

  it('reads a stream without starts, and a thought and a text of one index', () => {
    const record = parse([
      delta(0, { thinking: 'Hm' }),
      delta(0, { thinking: 'm.' }),
      delta(0, { text: 'Yes' }),
      delta(0, { text: '.' }),
    ]);
    expect(record).toMatchObject({ thinking: 'Hmm.', text: 'Yes.', complete: false });
  });

  it('keeps calls apart that have no index', () => {
    const record = parse([
      toolEvent('start', { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":' } }),
      toolEvent('delta', { function: { arguments: '1}' } }),
      toolEvent('start', { id: 'b', type: 'function', function: { name: 'g', arguments: '' } }),
      toolEvent('delta', { function: { arguments: '{}' } }),
      { type: 'message-end', delta: { finish_reason: 'TOOL_CALL' } },
    ]);
    expect(record.toolUses).toMatchObject([
      { id: 'a', name: 'f', input: { x: 1 } },
      { id: 'b', name: 'g', input: {} },
    ]);
  });

  it('reports an error that the end of a stream states, with the text before it', () => {
    const record = parse([
      delta(0, { text: 'Half' }),
      { type: 'message-end', delta: { finish_reason: 'ERROR', error: 'the model failed' } },
    ]);
    expect(record).toMatchObject({
      text: 'Half',
      stopReason: 'ERROR',
      finish: 'error',
      error: { message: 'the model failed' },
    });
  });

  it('joins two streams, with a warning', () => {
    const events = load('cohere_stream');
    const record = parse([...events, ...events]);
    expect(record.text).toBe('The emperor penguinThe emperor penguin');
    expect(codes(record)).toContain('stream_duplicate_start');
  });

  it('is read on Bedrock too, whole and in chunks, with the counts of its metrics', () => {
    const whole = parse(load('cohere_chat'), { provider: 'bedrock' });
    expect(whole).toMatchObject({ provider: 'bedrock', api: 'cohere.chat', warnings: [] });
    const { usage: _, ...end } = load('cohere_stream').at(-1).delta;
    const events = [
      ...load('cohere_stream').slice(0, -1),
      {
        type: 'message-end',
        delta: end,
        'amazon-bedrock-invocationMetrics': {
          inputTokenCount: 12,
          outputTokenCount: 4,
          invocationLatency: 300,
        },
      },
    ];
    const record = parse(events.map((event) => ({ chunk: { bytes: btoa(JSON.stringify(event)) } })));
    expect(record).toMatchObject({
      provider: 'bedrock',
      api: 'cohere.chat',
      text: 'The emperor penguin',
      complete: true,
      latencyMs: 300,
      usage: { input: 12, output: 4, source: 'invocation_metrics' },
    });
  });

  it("is read the same from the objects of Cohere's TypeScript SDK, whose keys are in camelCase", () => {
    const { message, usage, finish_reason, ...rest } = load('cohere_tool_calls');
    const { tool_plan, tool_calls, ...inner } = message;
    const counts = ({ input_tokens, output_tokens }: Record<string, number>) => ({
      inputTokens: input_tokens,
      outputTokens: output_tokens,
    });
    const camelUsage = {
      billedUnits: counts(usage.billed_units),
      tokens: counts(usage.tokens),
      cachedTokens: 7,
    };
    const whole = parse({
      ...rest,
      finishReason: finish_reason,
      message: { ...inner, toolPlan: tool_plan, toolCalls: tool_calls },
      usage: camelUsage,
    });
    const expected = parse({ ...load('cohere_tool_calls'), usage: { ...usage, cached_tokens: 7 } });
    expect(whole).toEqual(expected);
    const events = load('cohere_stream_tool_calls').map((event: { delta?: { message?: object } }) => {
      const { tool_plan, tool_calls } = (event.delta?.message ?? {}) as Record<string, unknown>;
      return { ...event, delta: { message: { toolPlan: tool_plan, toolCalls: tool_calls } } };
    });
    events[events.length - 1].delta = { finishReason: finish_reason, usage: camelUsage };
    expect(parse(events)).toMatchObject({
      api: 'cohere.chat',
      thinking: 'I will look.',
      toolUses: expected.toolUses,
      stopReason: 'TOOL_CALL',
      usage: expected.usage,
    });
  });

  it('counts the tokens of the first version of the API in the same way', () => {
    const record = parse({
      generation_id: 'g',
      text: 'Hi',
      finish_reason: 'COMPLETE',
      meta: {
        billed_units: { input_tokens: 5, output_tokens: 2 },
        tokens: { input_tokens: 71, output_tokens: 3 },
      },
    });
    expect(record.usage).toMatchObject({ input: 71, output: 3, billed: { input: 5, output: 2 } });
  });
});
