import { parse, parseBatch, parseProviderResponse } from 'duologue/parse';
import { describe, expect, it } from 'vitest';

const answer = (text: string) => ({
  type: 'message',
  content: [{ type: 'text', text }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 3, output_tokens: 2 },
});
const line = (id: string, text: string) => ({
  custom_id: id,
  result: { type: 'succeeded', message: answer(text) },
});
const lines = [line('sum', '4'), line('planet', 'Jupiter')];
const jsonl = lines.map((one) => JSON.stringify(one)).join('\n');
const reported = (results: ReturnType<typeof parseBatch>) =>
  results.map(({ id, record }) => [id, record.text]);
const both = [
  ['sum', '4'],
  ['planet', 'Jupiter'],
];

describe('a batch', () => {
  it.each([
    ['text', jsonl],
    ['text with a line end', `${jsonl}\n`],
    ['bytes', new TextEncoder().encode(jsonl)],
    ['a list', lines],
    ['the text of a list', JSON.stringify(lines)],
  ])('as %s gives a record for each result', (_, raw) => {
    expect(reported(parseBatch(raw))).toEqual(both);
  });

  it('of one result, or of none', () => {
    expect(reported(parseBatch(lines[0]))).toEqual([['sum', '4']]);
    expect(parseBatch('')).toEqual([]);
  });

  it.each([
    [
      "OpenAI's",
      { id: 'b', custom_id: 'r', response: { status_code: 200, body: answer('Hi') }, error: null },
    ],
    ["Google's", { key: 'r', response: { candidates: [{ content: { parts: [{ text: 'Hi' }] } }] } }],
    ["Bedrock's", { recordId: 'r', modelInput: {}, modelOutput: answer('Hi') }],
  ])('of %s file has the name of its request', (_, result) => {
    expect(reported(parseBatch(JSON.stringify(result)))).toEqual([['r', 'Hi']]);
  });

  it('with a broken line keeps the others', () => {
    const results = parseBatch(
      `${JSON.stringify(lines[0])}\n{"custom_id": "x", \n${JSON.stringify(lines[1])}`,
    );
    expect(results.map(({ id, record }) => [id, record.text, record.error?.code])).toEqual([
      ['sum', '4', undefined],
      [null, '', 'not_json'],
      ['planet', 'Jupiter', undefined],
    ]);
    expect(parseBatch(jsonl.slice(0, -3)).map(({ record }) => record.error?.code)).toEqual([
      undefined,
      'not_json',
    ]);
  });

  it.each(['expired', 'canceled'])("whose request was %s says so, as Anthropic's does", (type) => {
    expect(parse({ custom_id: 'r', result: { type } })).toMatchObject({
      api: 'anthropic.messages',
      finish: 'error',
      error: { type },
      warnings: [],
    });
  });

  it('that is read as one response is joined with a warning', () => {
    expect(parse(jsonl)).toMatchObject({ text: '4Jupiter', warnings: [{ code: 'multiple_responses' }] });
  });
});

describe('Gemini with the numbers of its enumeration', () => {
  it.each([
    [1, 'stop', []],
    [2, 'length', []],
    [3, 'content_filter', []],
    [4, 'content_filter', []],
    [5, 'other', []],
    [8, 'content_filter', []],
    [99, 'other', ['unknown_stop_reason']],
  ])('finishReason %i is %s', (finishReason, finish, warnings) => {
    const record = parse({
      candidates: [{ content: { parts: [{ text: 'x' }] }, finishReason }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
    });
    expect(record).toMatchObject({ stopReason: String(finishReason), finish });
    expect(record.warnings.map(({ code }) => code)).toEqual(warnings);
  });
});

describe("OpenAI's Realtime", () => {
  const at = { response_id: 'r', item_id: 'i', output_index: 0, content_index: 0 };
  const item = { id: 'i', type: 'message', role: 'assistant', content: [] };
  const heard = ['output_audio_transcript', 'audio_transcript'].map((name) => [
    { type: 'response.created', response: { object: 'realtime.response', id: 'r', status: 'in_progress' } },
    { type: 'response.output_item.added', ...at, item },
    { type: 'response.content_part.added', ...at, part: { type: 'audio', transcript: '' } },
    { type: `response.${name}.delta`, ...at, delta: 'Good ' },
    { type: `response.${name.replace('_transcript', '')}.delta`, ...at, delta: 'AAAA' },
    { type: `response.${name}.delta`, ...at, delta: 'morning' },
  ]);

  it.each(heard)('that ends before its response is done keeps what was spoken', (...events) => {
    const record = parse(events);
    expect(record).toMatchObject({ text: 'Good morning', complete: false, finish: 'incomplete' });
    expect(record.content).toMatchObject([{ type: 'media', transcript: 'Good morning' }]);
  });

  it('has what was spoken as its text, as Gemini Live has', () => {
    const content = [{ type: 'output_audio', transcript: 'Hello.' }];
    const output = [{ type: 'message', content }];
    expect(parse({ object: 'realtime.response', status: 'completed', output }).text).toBe('Hello.');
  });
});

it("Jamba's counts come in an event of their own at the end of an InvokeModel stream", () => {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    id: 'chat-1',
    choices: [{ index: 0, delta, finish_reason }],
  });
  const record = parse([
    chunk({ role: 'assistant', content: 'Hi' }),
    chunk({ content: '' }, 'stop'),
    {
      'amazon-bedrock-invocationMetrics': { inputTokenCount: 9, outputTokenCount: 2, invocationLatency: 300 },
    },
  ]);
  expect(record).toMatchObject({ text: 'Hi', usage: { input: 9, output: 2 }, latencyMs: 300, warnings: [] });
});

describe('the flat view of what is no response', () => {
  it.each([
    ['nothing', null],
    ['plain text', 'Internal Server Error'],
    ['an error', { error: { message: 'bad key', type: 'authentication_error' } }],
  ])('says why: %s', (_, raw) => {
    const flat = parseProviderResponse('openai', raw);
    expect(flat.output).toBeNull();
    expect(flat.error).toEqual(parse(raw).error?.message);
    expect(flat.error).toBeTypeOf('string');
  });

  it('is absent from a response', () => {
    expect('error' in parseProviderResponse('anthropic', answer('Hi'))).toBe(false);
  });
});
