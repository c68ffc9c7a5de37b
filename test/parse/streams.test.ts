import { readdirSync, readFileSync } from 'node:fs';
import { createAccumulator, type ParsedResponse, parse, parseStream } from 'duologue/parse';
import { describe, expect, it } from 'vitest';
import { aws } from './support/aws-stream.ts';

const dir = new URL('../../fixtures/responses/', import.meta.url);
const load = (name: string) => JSON.parse(readFileSync(new URL(`${name}.json`, dir), 'utf8'));
const streams = readdirSync(dir)
  .filter((name) => name.endsWith('.json'))
  .map((name) => name.replace('.json', ''))
  .filter((name) => Array.isArray(load(name).response));

const DONE = /^(openai_chat|groq)/;
const sse = (events: unknown[], end = '') =>
  `: hello\n\n${events.map((e) => `event: x\r\ndata: ${JSON.stringify(e)}\r\n\r\n`).join('')}${end}`;
const ndjson = (events: unknown[]) => events.map((event) => `${JSON.stringify(event)}\n`).join('');

/** Whether a record was streamed, and what the framing alone can know, are no facts of the response. */
function facts(record: ParsedResponse) {
  const { streamed: _, ...rest } = record;
  return rest;
}

async function* pieces<T extends string | Uint8Array>(whole: T, size: number): AsyncGenerator<T> {
  for (let i = 0; i < whole.length; i += size) yield whole.slice(i, i + size) as T;
}

describe('one stream, however it is framed', () => {
  it.each(streams)(
    '%s reads the same as events, SSE, NDJSON, a JSON array, and in pieces of any size',
    async (name) => {
      const events = load(name).response;
      const expected = parse(events);
      const text = sse(events, DONE.test(name) && expected.complete ? 'data: [DONE]\n\n' : '');
      expect(parse(text)).toEqual(expected);
      expect(parse(ndjson(events))).toEqual(expected);
      expect(parse(JSON.stringify(events, null, 2))).toEqual(expected);
      for (const size of [1, 7, 64]) {
        expect(await parseStream(pieces(text, size))).toEqual(expected);
        expect(await parseStream(pieces(new TextEncoder().encode(ndjson(events)), size))).toEqual(expected);
      }
      expect(await parseStream(events)).toEqual(expected);
    },
  );

  it.each(streams.filter((name) => name.startsWith('bedrock')))(
    '%s reads the same from the AWS binary stream',
    async (name) => {
      const events = load(name).response;
      const bytes = aws(events);
      expect(parse(bytes)).toEqual(parse(events));
      for (const size of [1, 5, 1000]) expect(await parseStream(pieces(bytes, size))).toEqual(parse(events));
    },
  );

  it('keeps letters whole that a chunk boundary splits', async () => {
    const bytes = new TextEncoder().encode(
      sse([{ choices: [{ delta: { content: 'Grüße 👋' }, finish_reason: 'stop' }] }], 'data: [DONE]\n\n'),
    );
    expect((await parseStream(pieces(bytes, 1))).text).toBe('Grüße 👋');
  });

  it('reads a web stream', async () => {
    const body = new Response(sse(load('anthropic_stream').response)).body;
    expect(body && (await parseStream(body))).toEqual(parse(load('anthropic_stream').response));
  });

  it('gives what had arrived when the source fails', async () => {
    async function* failing() {
      yield sse(load('anthropic_stream').response.slice(0, 10));
      throw new Error('socket hang up');
    }
    expect(await parseStream(failing())).toMatchObject({
      text: 'Take one.',
      complete: false,
      finish: 'error',
      error: { type: 'stream_error', message: 'socket hang up' },
    });
  });

  it('is incomplete when the source fails before its first event', async () => {
    const source = new ReadableStream({
      start: (controller) => controller.error(new Error('socket hang up')),
    });
    expect(await parseStream(source)).toMatchObject({ complete: false, error: { type: 'stream_error' } });
  });
});

describe('a stream equals the whole response', () => {
  it.each([
    [
      'anthropic_stream',
      {
        id: 'msg_01',
        type: 'message',
        role: 'assistant',
        model: 'claude-sonnet-4-5-20250929',
        content: [
          { type: 'thinking', thinking: 'Rain, so umbrella.', signature: 'c2ln' },
          { type: 'text', text: 'Take one.' },
          { type: 'tool_use', id: 'toolu_02', name: 'get_umbrella', input: { colour: 'red' } },
        ],
        stop_reason: 'tool_use',
        usage: { input_tokens: 25, output_tokens: 89 },
      },
    ],
    [
      'openai_chat_stream',
      {
        id: 'chatcmpl-st1',
        object: 'chat.completion',
        created: 1763100000,
        model: 'gpt-4o-2024-11-20',
        choices: [
          {
            index: 0,
            message: {
              role: 'assistant',
              content: 'It is raining.',
              tool_calls: [
                {
                  id: 'call_s1',
                  type: 'function',
                  function: { name: 'get_umbrella', arguments: '{"colour":"red"}' },
                },
              ],
            },
            finish_reason: 'tool_calls',
          },
        ],
        usage: { prompt_tokens: 30, completion_tokens: 18, total_tokens: 48 },
      },
    ],
    [
      'bedrock_converse_stream',
      {
        output: {
          message: {
            role: 'assistant',
            content: [
              { text: 'Let me look.' },
              { toolUse: { toolUseId: 'tooluse_2', name: 'get_weather', input: { city: 'Oslo' } } },
            ],
          },
        },
        stopReason: 'tool_use',
        usage: { inputTokens: 40, outputTokens: 22, totalTokens: 62 },
        metrics: { latencyMs: 700 },
      },
    ],
    ['openai_responses_stream', load('openai_responses_stream').response.at(-1).response],
    ['gemini_array_stream', load('gemini_text').response],
    [
      'cohere_stream',
      {
        id: 'c3',
        finish_reason: 'MAX_TOKENS',
        message: {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Tallest: emperor.' },
            { type: 'text', text: 'The emperor penguin' },
          ],
          citations: [load('cohere_stream').response[8].delta.message.citations],
        },
        usage: load('cohere_stream').response.at(-1).delta.usage,
      },
    ],
    [
      'cohere_stream_tool_calls',
      {
        ...load('cohere_tool_calls').response,
        id: 'c4',
        message: { ...load('cohere_tool_calls').response.message, tool_plan: 'I will look.' },
      },
    ],
    [
      'ollama_chat_stream',
      {
        ...load('ollama_chat_stream').response.at(-1),
        message: {
          role: 'assistant',
          content: 'Let me look.',
          thinking: 'I need two tools.',
          tool_calls: [
            { id: 'call_a', function: { index: 0, name: 'get_weather', arguments: { city: 'Oslo' } } },
            { id: 'call_b', function: { index: 1, name: 'get_time', arguments: {} } },
          ],
        },
      },
    ],
    [
      'ollama_generate_stream',
      {
        ...load('ollama_generate_stream').response.at(-1),
        response: 'Because of light.',
        thinking: 'Hmm.',
      },
    ],
  ])('%s', (name, whole) => {
    expect(facts(parse(load(name).response))).toEqual(facts(parse(whole)));
  });

  it('also when the final response of a Responses stream is missing', () => {
    const events = load('openai_responses_stream').response;
    const cut = parse(events.slice(0, -1));
    expect(cut).toMatchObject({ text: 'Hello there.', complete: false, finish: 'incomplete' });
    expect(cut.content).toEqual(parse(events).content);
  });
});

describe('a cut stream', () => {
  const complete = streams.filter((name) => parse(load(name).response).complete);

  it.each(complete)('%s is incomplete at every event before its end, and only grows', (name) => {
    const events: unknown[] = load(name).response;
    const whole = parse(events);
    let before = '';
    for (let n = 1; n < events.length; n++) {
      const record = parse(events.slice(0, n));
      expect(whole.text.startsWith(record.text), `${n} events`).toBe(true);
      expect(record.text.startsWith(before)).toBe(true);
      before = record.text;
      if (record.complete) expect(record.stopReason ?? record.finish).toBe(whole.stopReason ?? 'stop');
      else expect(record.warnings.map((w) => w.code)).toContain('stream_incomplete');
    }
  });

  it('over SSE is incomplete until [DONE], even after the finish reason', () => {
    const events = load('openai_chat_stream').response;
    expect(parse(sse(events))).toMatchObject({ complete: false, finish: 'tool_calls' });
    expect(parse(sse(events, 'data: [DONE]\n\n'))).toMatchObject({ complete: true, finish: 'tool_calls' });
  });

  it('in the middle of a JSON array or an AWS message keeps what is whole', () => {
    const array = JSON.stringify(load('gemini_array_stream').response);
    expect(parse(array.slice(0, -30))).toMatchObject({ text: 'Good ', complete: false });
    const bytes = aws(load('bedrock_converse_stream').response);
    const second = aws(load('bedrock_converse_stream').response.slice(0, 2)).length;
    expect(parse(bytes.slice(0, second + 20))).toMatchObject({ text: 'Let me ', complete: false });
  });

  it('ends at a message whose checksum is wrong', () => {
    const bytes = aws(load('bedrock_converse_stream').response);
    bytes[150] = (bytes[150] ?? 0) ^ 1;
    const record = parse(bytes);
    expect(record.complete).toBe(false);
    expect(record.warnings.map((w) => w.code)).toContain('stream_corrupt');
  });
});

describe('odd streams', () => {
  const codes = (record: ParsedResponse) => record.warnings.map((warning) => warning.code);

  it('a second response in one stream is joined: text and calls of both, usage and id of the last', () => {
    const [a, b] = [load('anthropic_stream').response, load('anthropic_stream').response];
    b[0].message.id = 'msg_02';
    const record = parse([...a, ...b]);
    expect(record).toMatchObject({
      id: 'msg_02',
      text: 'Take one.Take one.',
      complete: true,
      finish: 'tool_calls',
    });
    expect(record.toolUses).toHaveLength(2);
    expect(record.usage?.output).toBe(89);
    expect(codes(record)).toContain('stream_duplicate_start');
  });

  it('of several responses a result in a later one reaches its call, and counts of an earlier one are not kept', () => {
    const message = (content: unknown, usage?: unknown) => ({ type: 'message', id: 'm', content, usage });
    const call = { type: 'server_tool_use', id: 's1', name: 'search', input: {} };
    const result = { type: 'web_search_tool_result', tool_use_id: 's1', content: ['found'] };
    const record = parse([message([call], { input_tokens: 3, output_tokens: 1 }), message([result])]);
    expect(record.toolUses).toMatchObject([{ id: 's1', output: ['found'], status: 'completed' }]);
    expect(record.content.map((part) => part.type)).toEqual(['tool_call', 'tool_result']);
    expect(record.usage).toBeNull();
  });

  it('several chat or Responses streams one after the other are joined too', () => {
    const chat = load('openai_chat_stream').response;
    const again = JSON.parse(JSON.stringify(chat).replaceAll('chatcmpl-st1', 'chatcmpl-st2'));
    expect(parse([...chat, ...again])).toMatchObject({
      id: 'chatcmpl-st2',
      text: 'It is raining.It is raining.',
    });
    const responses = load('openai_responses_stream').response;
    expect(parse([...responses, ...responses]).text).toBe('Hello there.Hello there.');
  });

  it('a repeated message_start changes nothing but a warning', () => {
    const events = load('anthropic_stream').response;
    const record = parse([events[0], ...events]);
    expect({ ...record, warnings: [] }).toEqual({ ...parse(events), warnings: [] });
    expect(codes(record)).toEqual(['stream_duplicate_start']);
  });

  it('the final response wins over its deltas, and says so', () => {
    const events = load('openai_responses_stream').response;
    events[3].delta = 'Hullo ';
    expect(parse(events.toSpliced(5, 1))).toMatchObject({
      text: 'Hello there.',
      warnings: [{ code: 'delta_final_mismatch' }],
    });
  });

  it('a final response without output does not lose what was streamed', () => {
    const events = load('openai_responses_stream').response;
    events.at(-1).response.output = [];
    expect(parse(events)).toMatchObject({
      text: 'Hello there.',
      warnings: [{ code: 'delta_final_mismatch' }],
    });
  });

  it('usage: null in a later chunk does not overwrite', () => {
    const events = load('openai_chat_stream').response;
    expect(parse([...events, { id: 'chatcmpl-st1', choices: [], usage: null }]).usage?.total).toBe(48);
  });

  it('an error in mid-stream keeps the text', () => {
    const record = parse([
      { id: 'c', choices: [{ delta: { content: 'Hi' } }] },
      { error: { message: 'boom', type: 'server_error' } },
    ]);
    expect(record).toMatchObject({
      text: 'Hi',
      complete: false,
      finish: 'error',
      error: { message: 'boom', type: 'server_error' },
    });
  });

  it('SSE may have a byte order mark, no space, comments, retry lines, empty data, and no blank lines', () => {
    const data = (delta: object) => `data:${JSON.stringify({ choices: [{ index: 0, ...delta }] })}`;
    const lines = [
      '\ufeff: hello',
      'retry: 3',
      data({ delta: { content: 'A' } }),
      'data:',
      'id: 7',
      data({ delta: { content: 'B' }, finish_reason: 'stop' }),
      'data:[DONE]',
    ];
    for (const end of ['\n', '\r\n', '\n\n'])
      expect(parse(lines.join(end))).toMatchObject({
        text: 'AB',
        complete: true,
        warnings: [{ code: 'usage_missing' }],
      });
  });

  it('an event whose data has several lines is one event', () => {
    const text = JSON.stringify({ type: 'message', content: [{ type: 'text', text: 'Hi' }] }, null, 1);
    expect(parse(`${text.replace(/^/gm, 'data: ')}\n\n`)).toMatchObject({ text: 'Hi', complete: true });
  });

  it('an error that only the SSE event name tells is an error', () => {
    expect(parse('event: error\ndata: {"message":"overloaded"}\n\n').error?.message).toBe('overloaded');
  });

  it('a broken line costs that line alone', () => {
    const lines = ndjson(load('anthropic_stream').response).split('\n');
    lines[2] = lines[2]?.slice(0, -4) ?? '';
    const record = parse(lines.join('\n'));
    expect(record).toMatchObject({ text: 'Take one.', thinking: 'umbrella.', complete: false });
    expect(codes(record)).toContain('stream_corrupt');
  });

  it('tool deltas without an index go by id, else to the last call', () => {
    const delta = (tool_calls: unknown[]) => ({ choices: [{ delta: { tool_calls } }] });
    const record = parse([
      delta([{ id: 'a', function: { name: 'f', arguments: '{"x":' } }]),
      delta([{ function: { arguments: '1}' } }]),
      delta([{ id: 'b', function: { name: 'g', arguments: '{}' } }]),
      { choices: [{ delta: {}, finish_reason: 'tool_calls' }] },
    ]);
    expect(record.toolUses.map(({ id, name, input }) => ({ id, name, input }))).toEqual([
      { id: 'a', name: 'f', input: { x: 1 } },
      { id: 'b', name: 'g', input: {} },
    ]);
  });

  it('parallel calls that all claim index 0 stay apart', () => {
    const call = (id: string) => ({
      choices: [{ delta: { tool_calls: [{ index: 0, id, function: { name: id, arguments: '{}' } }] } }],
    });
    expect(
      parse([call('a'), call('b'), { choices: [{ delta: {}, finish_reason: 'stop' }] }]).toolUses,
    ).toHaveLength(2);
  });

  it('a string after content parts continues them', () => {
    const delta = (content: unknown) => ({ choices: [{ delta: { content } }] });
    const record = parse([
      delta([{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] }]),
      delta([{ type: 'thinking', thinking: [{ type: 'text', text: 'm.' }] }]),
      delta('Yes'),
      delta(', sir.'),
    ]);
    expect(record).toMatchObject({ text: 'Yes, sir.', thinking: 'Hmm.' });
    expect(record.content).toHaveLength(2);
  });

  it('cost per event is flat', () => {
    const accumulator = createAccumulator('openai');
    for (let i = 0; i < 100_000; i++)
      accumulator.push({ choices: [{ index: 0, delta: { content: 'word ' } }] });
    expect(accumulator.end().text).toHaveLength(500_000);
  });
});

describe('a completed item of a Responses stream', () => {
  const item = {
    type: 'web_search_call',
    id: 'ws',
    status: 'completed',
    action: { type: 'search', query: 'x' },
  };
  const message = { type: 'message', id: 'm', content: [{ type: 'output_text', text: 'Hello' }] };
  const events = [
    {
      type: 'response.created',
      response: { id: 'r', object: 'response', status: 'in_progress', output: [] },
    },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress' } },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.output_item.added', output_index: 1, item: { ...message, content: [] } },
    { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: 'Hello' },
    { type: 'response.output_item.done', output_index: 1, item: message },
  ];

  it('is kept by reference', () => {
    const { content, text, raw } = parse(events, { raw: true });
    expect(content[0]).toMatchObject({ type: 'tool_call', name: 'web_search' });
    expect(content[0]).toHaveProperty('raw', item);
    expect(content[0]?.type === 'tool_call' && content[0].raw).toBe(item);
    expect((raw as { output: unknown[] }).output[1]).toBe(message);
    expect(text).toBe('Hello');
  });

  it('is not changed by what comes after it', () => {
    const before = structuredClone(events);
    const late = { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: ' there' };
    expect(parse([...events, late]).text).toBe('Hello there');
    expect(events).toEqual(before);
  });
});
