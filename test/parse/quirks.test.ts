import { createAccumulator, parse } from 'duologue/parse';
import { detect, finishOf, usageOf } from 'duologue/parse/pieces';
import { describe, expect, it } from 'vitest';
import { aiSdkFinishOf } from '../../src/adk/message-chunks.ts';

const codes = (raw: unknown, options = {}) => parse(raw, options).warnings.map((warning) => warning.code);
const chat = (message: unknown, rest: object = {}) => ({
  choices: [{ index: 0, message, finish_reason: 'stop', ...rest }],
});
const chatUsage = (usage: object) => parse({ ...chat({ content: 'x' }), usage }).usage;
const response = (...output: unknown[]) => ({ object: 'response', status: 'completed', output });
const anthropic = (content: unknown[], rest: object = {}) => ({
  type: 'message',
  role: 'assistant',
  content,
  stop_reason: 'end_turn',
  ...rest,
});
const converse = (content: unknown[], rest: object = {}) => ({
  output: { message: { role: 'assistant', content } },
  stopReason: 'end_turn',
  ...rest,
});
const gemini = (parts: unknown[], rest: object = {}) => ({
  candidates: [{ content: { parts, role: 'model' }, finishReason: 'STOP', ...rest }],
});
const base64 = (value: unknown) => ({
  chunk: { bytes: Buffer.from(JSON.stringify(value)).toString('base64') },
});

describe('OpenAI chat and its relatives', () => {
  it('missing arguments are no arguments', () => {
    expect(parse(chat({ tool_calls: [{ id: 'a', function: { name: 'f' } }] })).toolUses[0]).toMatchObject({
      input: {},
      inputValid: true,
    });
  });

  it('cached tokens are found wherever a provider puts them', () => {
    expect(chatUsage({ prompt_tokens: 9, completion_tokens: 1, num_cached_tokens: 4 })?.cacheRead).toBe(4);
    expect(chatUsage({ prompt_tokens: 9, completion_tokens: 1, cached_tokens: 5 })?.cacheRead).toBe(5);
    expect(chatUsage({ prompt_tokens: 9, completion_tokens: 1, prompt_cache_hit_tokens: 6 })?.cacheRead).toBe(
      6,
    );
    expect(
      chatUsage({
        prompt_tokens: 9,
        completion_tokens: 1,
        prompt_tokens_details: { cached_tokens: 2, cache_write_tokens: 3 },
      }),
    ).toMatchObject({ cacheRead: 2, cacheWrite: 3, inputUncached: 4 });
  });

  it('annotations, images and reasoning details are kept', () => {
    const record = parse(
      chat({
        content: 'See.',
        annotations: [
          {
            type: 'url_citation',
            url_citation: { url: 'https://a.example', title: 'A', start_index: 0, end_index: 3 },
          },
        ],
        images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } }],
        reasoning_details: [
          { type: 'reasoning.summary', summary: 'Thought.' },
          { type: 'reasoning.encrypted', data: 'ZZ' },
        ],
      }),
    );
    expect(record.citations).toMatchObject([{ type: 'url_citation', url: 'https://a.example', title: 'A' }]);
    expect(record.content.map((part) => part.type)).toEqual(['reasoning', 'reasoning', 'text', 'media']);
    expect(record.thinking).toBe('Thought.');
  });

  it('reasoning details that stream in pieces are joined', () => {
    const delta = (text: string) => ({
      choices: [{ delta: { reasoning_details: [{ type: 'reasoning.text', index: 0, text }] } }],
    });
    expect(
      parse([delta('Let '), delta('me.'), { choices: [{ delta: {}, finish_reason: 'stop' }] }]).thinking,
    ).toBe('Let me.');
  });

  it('tools that Groq ran itself are server tools', () => {
    const record = parse(
      chat({
        content: 'Four.',
        executed_tools: [{ index: 0, type: 'python', arguments: '{"code":"2+2"}', output: '4' }],
      }),
    );
    expect(record.toolUses).toMatchObject([
      { name: 'python', executor: 'server', input: { code: '2+2' }, output: '4' },
    ]);
    expect(record.subtype).toBe('response');
  });

  it('a choice that failed is an error', () => {
    const raw = {
      choices: [
        {
          message: { content: '' },
          finish_reason: 'error',
          error: { code: 502, message: 'Upstream failed' },
        },
      ],
    };
    expect(parse(raw)).toMatchObject({
      finish: 'error',
      error: { code: 502, status: 502, message: 'Upstream failed' },
    });
  });

  it("Azure's first chunk has no choices, and its id and model are empty", () => {
    const chunk = (rest: object) => ({ object: 'chat.completion.chunk', ...rest });
    const record = parse([
      chunk({ id: '', model: '', choices: [], prompt_filter_results: [{ prompt_index: 0 }] }),
      chunk({
        id: 'c1',
        model: 'gpt-4o',
        choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }],
      }),
    ]);
    expect(record).toMatchObject({
      id: 'c1',
      model: 'gpt-4o',
      text: 'Hi',
      complete: true,
      safety: [{ prompt_index: 0 }],
    });
  });

  it('stop_reason stands in for finish_reason on Bedrock, and an empty error is none', () => {
    expect(
      parse({ choices: [{ index: 0, message: { content: 'Hi' }, stop_reason: 'length' }], error: {} }),
    ).toMatchObject({ finish: 'length', error: null });
    expect(parse({ choices: [{ text: 'Hi', stop_reason: 'stop' }] })).toMatchObject({
      api: 'openai.completions',
      text: 'Hi',
      finish: 'stop',
    });
    expect(
      parse([
        { choices: [{ index: 0, text: 'Hi', stop_reason: null }] },
        { choices: [{ index: 0, text: '!', stop_reason: 'stop' }] },
      ]),
    ).toMatchObject({ text: 'Hi!', finish: 'stop', complete: true });
  });

  it('usage inside the last choice of a stream is found', () => {
    const record = parse([
      { choices: [{ index: 0, delta: { content: 'Hi' } }] },
      {
        choices: [
          {
            index: 0,
            delta: {},
            finish_reason: 'stop',
            usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
          },
        ],
      },
    ]);
    expect(record.usage).toMatchObject({ input: 3, output: 1 });
  });

  it('every choice of a stream is folded, in the order of its index', () => {
    const record = parse([
      { choices: [{ index: 1, delta: { content: 'b' } }] },
      { choices: [{ index: 0, delta: { content: 'a' } }] },
      {
        choices: [
          { index: 1, delta: {}, finish_reason: 'length' },
          { index: 0, delta: {}, finish_reason: 'stop' },
        ],
      },
    ]);
    expect(record.choices).toMatchObject([
      { index: 0, text: 'a', finish: 'stop' },
      { index: 1, text: 'b', finish: 'length' },
    ]);
    expect(record.text).toBe('a');
  });
});

describe('OpenAI Responses', () => {
  it.each([
    [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }, 'client', 'function', 'f'],
    [{ type: 'custom_tool_call', call_id: 'c', name: 'g', input: 'x' }, 'client', 'custom', 'g'],
    [{ type: 'computer_call', call_id: 'c', action: {} }, 'client', 'builtin', 'computer'],
    [{ type: 'local_shell_call', call_id: 'c', action: {} }, 'client', 'builtin', 'local_shell'],
    [
      { type: 'shell_call', call_id: 'c', action: {}, environment: { type: 'local' } },
      'client',
      'builtin',
      'shell',
    ],
    [
      { type: 'shell_call', call_id: 'c', action: {}, environment: { type: 'container_reference' } },
      'server',
      'builtin',
      'shell',
    ],
    [{ type: 'apply_patch_call', call_id: 'c', operation: {} }, 'client', 'builtin', 'apply_patch'],
    [
      { type: 'tool_search_call', call_id: 'c', execution: 'client', arguments: {} },
      'client',
      'builtin',
      'tool_search',
    ],
    [
      { type: 'tool_search_call', call_id: 'c', execution: 'server', arguments: {} },
      'server',
      'builtin',
      'tool_search',
    ],
    [{ type: 'mcp_approval_request', id: 'c', name: 'h', arguments: '{}' }, 'client', 'mcp', 'h'],
    [{ type: 'mcp_call', id: 'c', name: 'h', arguments: '{}', output: 'ok' }, 'server', 'mcp', 'h'],
    [{ type: 'web_search_call', id: 'c', action: {} }, 'server', 'builtin', 'web_search'],
    [{ type: 'file_search_call', id: 'c', queries: ['q'] }, 'server', 'builtin', 'file_search'],
    [{ type: 'code_interpreter_call', id: 'c', code: '1' }, 'server', 'builtin', 'code_interpreter'],
    [{ type: 'image_generation_call', id: 'c', result: 'AA' }, 'server', 'builtin', 'image_generation'],
  ])('%j is run by the %s', (item, executor, kind, name) => {
    const record = parse(response(item));
    expect(record.toolUses).toMatchObject([{ id: 'c', executor, kind, name }]);
    expect(record.subtype).toBe(executor === 'client' ? 'planning' : 'response');
    expect(record.finish).toBe(executor === 'client' ? 'tool_calls' : 'stop');
  });

  it('results go to their calls', () => {
    const record = parse(
      response(
        { type: 'shell_call', call_id: 's1', environment: { type: 'container' } },
        { type: 'shell_call_output', call_id: 's1', output: ['ok'] },
      ),
    );
    expect(record.toolUses).toMatchObject([{ id: 's1', output: ['ok'], status: 'completed' }]);
    expect(record.content.map((part) => part.type)).toEqual(['tool_call', 'tool_result']);
  });

  it('a top-level output_text is not trusted', () => {
    expect(
      parse({
        ...response({ type: 'message', content: [{ type: 'output_text', text: 'Hi' }] }),
        output_text: '',
      }).text,
    ).toBe('Hi');
  });

  it('encrypted reasoning is redacted, summaries come before texts, phases are kept', () => {
    const record = parse(
      response(
        { type: 'reasoning', summary: [], encrypted_content: 'ZZ' },
        { type: 'reasoning', summary: [{ text: 'S' }], content: [{ type: 'reasoning_text', text: 'T' }] },
        { type: 'message', phase: 'commentary', content: [{ type: 'output_text', text: 'Well' }] },
      ),
    );
    expect(record.content).toMatchObject([
      { type: 'reasoning', redacted: true },
      { text: 'S' },
      { text: 'T' },
      { text: 'Well', phase: 'commentary' },
    ]);
  });

  it('every kind of delta is folded when the stream is cut', () => {
    const ev = (type: string, rest: object) => ({ type: `response.${type}`, ...rest });
    const added = (output_index: number, item: object) => ev('output_item.added', { output_index, item });
    const record = parse([
      ev('created', { response: { id: 'r', object: 'response', status: 'in_progress', output: [] } }),
      added(0, { type: 'reasoning', summary: [] }),
      ev('reasoning_summary_text.delta', { output_index: 0, summary_index: 0, delta: 'Sum' }),
      ev('reasoning_text.delta', { output_index: 0, content_index: 0, delta: 'Thought' }),
      added(1, { type: 'message', content: [] }),
      ev('refusal.delta', { output_index: 1, content_index: 0, delta: 'No' }),
      ev('refusal.delta', { output_index: 1, content_index: 0, delta: '.' }),
      added(2, { type: 'custom_tool_call', call_id: 'c2', name: 'sql', input: '' }),
      ev('custom_tool_call_input.delta', { output_index: 2, delta: 'SELECT' }),
      added(3, { type: 'mcp_call', id: 'm', name: 'h', arguments: '' }),
      ev('mcp_call_arguments.delta', { output_index: 3, delta: '{"a":1}' }),
      added(4, { type: 'code_interpreter_call', id: 'ci', code: '' }),
      ev('code_interpreter_call_code.delta', { output_index: 4, delta: 'print()' }),
      added(5, {
        type: 'apply_patch_call',
        call_id: 'p',
        operation: { type: 'update_file', path: 'a', diff: '' },
      }),
      ev('apply_patch_call_operation_diff.delta', { output_index: 5, delta: '+x' }),
      added(6, { type: 'shell_call', call_id: 's', action: { commands: [] } }),
      ev('shell_call_command.delta', { output_index: 6, command_index: 0, delta: 'l' }),
      ev('shell_call_command.delta', { output_index: 6, command_index: 0, delta: 's' }),
      added(7, { type: 'function_call', call_id: 'f', name: 'g', arguments: '' }),
      ev('function_call_arguments.delta', { output_index: 7, delta: '{"q"' }),
      added(8, { type: 'message', content: [] }),
      ev('output_text.delta', { output_index: 8, content_index: 0, delta: 'Hi' }),
      ev('output_text.annotation.added', {
        output_index: 8,
        content_index: 0,
        annotation: { type: 'url_citation', url: 'https://a.example' },
      }),
    ]);
    expect(record).toMatchObject({
      thinking: 'Sum\n\nThought',
      refusal: 'No.',
      text: 'Hi',
      complete: false,
      citations: [{ url: 'https://a.example' }],
    });
    expect(record.toolUses.map(({ name, input, inputValid }) => [name, input, inputValid])).toEqual([
      ['sql', 'SELECT', true],
      ['h', { a: 1 }, true],
      ['code_interpreter', { code: 'print()' }, true],
      ['apply_patch', { type: 'update_file', path: 'a', diff: '+x' }, true],
      ['shell', { commands: ['ls'] }, true],
      ['g', '{"q"', false],
    ]);
  });

  it('ids that rotate in mid-stream do not matter; the first is the response’s', () => {
    const item = (id: string) => ({ id, type: 'message', content: [{ type: 'output_text', text: 'Hi' }] });
    const record = parse([
      { type: 'response.created', response: { id: 'a', object: 'response', status: 'in_progress' } },
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { id: 'x', type: 'message', content: [] },
      },
      { type: 'response.output_text.delta', item_id: 'y', output_index: 0, content_index: 0, delta: 'Hi' },
      {
        type: 'response.completed',
        response: { id: 'b', object: 'response', status: 'completed', output: [item('z')] },
      },
    ]);
    expect(record).toMatchObject({
      id: 'a',
      text: 'Hi',
      complete: true,
      warnings: [{ code: 'usage_missing' }],
    });
  });

  it('Realtime events are read too', () => {
    const output = [
      { type: 'message', content: [{ type: 'output_audio', transcript: 'Hello.' }] },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
    ];
    const usage = {
      total_tokens: 9,
      input_tokens: 5,
      output_tokens: 4,
      input_token_details: { cached_tokens: 2, audio_tokens: 3 },
    };
    const record = parse([
      { type: 'session.created' },
      { type: 'response.created', response: { object: 'realtime.response' } },
      {
        type: 'response.done',
        response: { object: 'realtime.response', status: 'completed', output, usage },
      },
    ]);
    expect(record).toMatchObject({
      finish: 'tool_calls',
      usage: { input: 5, cacheRead: 2, modality: { input: { audio: 3 } } },
    });
    expect(record.content[0]).toMatchObject({ type: 'media', transcript: 'Hello.' });
  });
});

describe('Anthropic', () => {
  it('calls from code execution are still run by the client, MCP tools by the server', () => {
    const record = parse(
      anthropic([
        { type: 'tool_use', id: 'a', name: 'f', input: {}, caller: { type: 'code_execution_20250825' } },
        { type: 'mcp_tool_use', id: 'b', name: 'g', server_name: 's', input: { q: 1 } },
        { type: 'mcp_tool_result', tool_use_id: 'b', is_error: true, content: [] },
      ]),
    );
    expect(record.toolUses).toMatchObject([
      { id: 'a', executor: 'client' },
      { id: 'b', executor: 'server', kind: 'mcp', status: 'failed' },
    ]);
  });

  it('compaction is no text, and its iterations are kept', () => {
    const usage = {
      input_tokens: 5,
      output_tokens: 6,
      iterations: [{ type: 'compaction', input_tokens: 900, output_tokens: 50 }],
    };
    const record = parse(
      anthropic([{ type: 'compaction', content: 'Summary.' }], { stop_reason: 'compaction', usage }),
    );
    expect(record).toMatchObject({
      text: '',
      finish: 'pause',
      usage: { input: 5, output: 6, iterations: usage.iterations },
    });
    expect(record.content).toMatchObject([{ type: 'compaction', text: 'Summary.' }]);
  });

  it('a compaction streams in deltas', () => {
    const record = parse([
      { type: 'message_start', message: { id: 'm', usage: { input_tokens: 1, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'compaction', content: null } },
      { type: 'content_block_delta', index: 0, delta: { type: 'compaction_delta', content: 'Sum' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'compaction_delta', content: 'mary' } },
      { type: 'message_stop' },
    ]);
    expect(record.content).toMatchObject([{ type: 'compaction', text: 'Summary' }]);
  });

  it('message_delta restates the input, citations stream, empty arguments are {}', () => {
    const record = parse([
      {
        type: 'message_start',
        message: { id: 'm', usage: { input_tokens: 1, cache_read_input_tokens: 0, output_tokens: 1 } },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'A' } },
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'citations_delta', citation: { type: 'char_location', cited_text: 'c1' } },
      },
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'citations_delta', citation: { type: 'char_location', cited_text: 'c2' } },
      },
      {
        type: 'content_block_start',
        index: 1,
        content_block: { type: 'tool_use', id: 't', name: 'f', input: {} },
      },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '' } },
      {
        type: 'content_block_start',
        index: 2,
        content_block: { type: 'tool_use', id: 'u', name: 'g', input: { whole: true } },
      },
      {
        type: 'message_delta',
        delta: { stop_reason: 'tool_use' },
        usage: { input_tokens: 10, cache_read_input_tokens: 7, output_tokens: 5 },
      },
      { type: 'message_stop' },
    ]);
    expect(record.usage).toMatchObject({ input: 17, cacheRead: 7, output: 5 });
    expect(record.citations.map(({ text }) => text)).toEqual(['c1', 'c2']);
    expect(record.toolUses.map(({ input }) => input)).toEqual([{}, { whole: true }]);
  });

  it('pause_turn is a pause', () => {
    expect(parse(anthropic([], { stop_reason: 'pause_turn' })).finish).toBe('pause');
  });
});

describe('Bedrock', () => {
  it('reads the oddities of Converse', () => {
    const record = parse(
      converse(
        [
          { type: 'text', text: 'Hi' },
          { toolUse: { toolUseId: 's', name: 'search', input: {}, type: 'server_tool_use' } },
          { toolResult: { toolUseId: 's', content: [{ text: 'r' }], status: 'success' } },
          { reasoningContent: { redactedContent: 'ZZ' } },
          { guardContent: {} },
        ],
        {
          usage: {
            inputTokens: 5,
            outputTokens: 2,
            totalTokens: 19,
            cacheReadInputTokenCount: 8,
            cacheWriteInputTokens: 4,
            cacheDetails: [{ ttl: '1h', inputTokens: 3 }],
            serverToolUsage: { x: 1 },
          },
          trace: { promptRouter: { invokedModelId: 'arn:model' } },
          $metadata: { requestId: 'req-1' },
        },
      ),
    );
    expect(record).toMatchObject({ id: 'req-1', model: 'arn:model', text: 'Hi' });
    expect(record.usage).toMatchObject({
      input: 17,
      cacheRead: 8,
      cacheWrite: 4,
      cacheWrite1h: 3,
      total: 19,
      serverTools: { x: 1 },
      reported: { input: 5 },
    });
    expect(record.toolUses).toMatchObject([{ executor: 'server', output: [{ text: 'r' }] }]);
    expect(record.content.map((part) => part.type)).toEqual([
      'text',
      'tool_call',
      'tool_result',
      'reasoning',
      'other',
    ]);
  });

  it('folds results, citations, images, reasoning and padding', () => {
    const delta = (contentBlockIndex: number, part: object) => ({
      contentBlockDelta: { contentBlockIndex, delta: part, p: 'abc' },
    });
    const record = parse([
      { messageStart: { role: 'assistant', p: 'ab' } },
      delta(0, { reasoningContent: { text: 'Hm' } }),
      delta(0, { reasoningContent: { signature: 'c2ln' } }),
      delta(1, { text: 'A' }),
      delta(1, { citation: { title: 'T', location: { web: { url: 'https://a.example' } } } }),
      {
        contentBlockStart: {
          contentBlockIndex: 2,
          start: { toolUse: { toolUseId: 'w', name: 'web', type: 'server_tool_use' } },
        },
      },
      delta(2, { toolUse: { input: '{}' } }),
      {
        contentBlockStart: {
          contentBlockIndex: 3,
          start: { toolResult: { toolUseId: 'w', status: 'success' } },
        },
      },
      delta(3, { toolResult: [{ text: 'one' }] }),
      delta(3, { toolResult: [{ json: { two: 2 } }] }),
      { contentBlockStart: { contentBlockIndex: 4, start: { image: { format: 'png' } } } },
      delta(4, { image: { source: { bytes: 'AA' } } }),
      { messageStop: { stopReason: 'end_turn' } },
      { metadata: { usage: { inputTokens: 1, outputTokens: 1 }, metrics: { latencyMs: 3 } } },
    ]);
    expect(record).toMatchObject({
      thinking: 'Hm',
      text: 'A',
      latencyMs: 3,
      complete: true,
      citations: [{ url: 'https://a.example', title: 'T' }],
    });
    expect(record.toolUses).toMatchObject([{ name: 'web', output: [{ text: 'one' }, { json: { two: 2 } }] }]);
    expect(record.content.at(-1)).toMatchObject({ type: 'media', mediaType: 'image/png', data: 'AA' });
  });

  it.each([
    'internalServerException',
    'modelStreamErrorException',
    'validationException',
    'throttlingException',
    'serviceUnavailableException',
  ])('%s in a stream is an error', (name) => {
    expect(parse([{ messageStart: {} }, { [name]: { message: 'm' } }])).toMatchObject({
      error: { type: name, message: 'm' },
      complete: false,
    });
  });

  it('takes counts from the headers where the body has none, in any form of headers', () => {
    const entries: [string, string][] = [
      ['X-Amzn-Bedrock-Input-Token-Count', '7'],
      ['X-Amzn-Bedrock-Output-Token-Count', '4'],
      ['X-Amzn-Bedrock-Cache-Read-Input-Token-Count', '100'],
      ['x-amzn-RequestId', 'rq'],
    ];
    for (const headers of [entries, Object.fromEntries(entries), new Headers(entries), new Map(entries)]) {
      expect(parse({ outputs: [{ text: 'Hi', stop_reason: 'stop' }] }, { headers })).toMatchObject({
        id: 'rq',
        usage: { input: 107, output: 4, cacheRead: 100, reported: { input: 7 }, source: 'headers' },
      });
    }
    expect(
      parse(converse([{ text: 'x' }], { usage: { inputTokens: 7 } }), { headers: entries }).usage,
    ).toMatchObject({ output: 4 });
  });

  it('a guardrail that stepped in is a content filter, in a body and in a stream', () => {
    const extra = {
      'amazon-bedrock-guardrailAction': 'INTERVENED',
      'amazon-bedrock-trace': { guardrail: 1 },
    };
    expect(parse({ generation: 'No.', stop_reason: 'stop', ...extra })).toMatchObject({
      finish: 'content_filter',
      safety: { guardrail: 1 },
    });
    const titan = parse([
      base64({
        outputText: 'No.',
        index: 0,
        inputTextTokenCount: 5,
        totalOutputTextTokenCount: 3,
        completionReason: null,
        ...extra,
      }),
    ]);
    expect(titan).toMatchObject({
      provider: 'bedrock',
      text: 'No.',
      finish: 'content_filter',
      complete: true,
      usage: { input: 5, output: 3 },
    });
  });

  it.each([
    [
      'claude',
      [
        {
          type: 'message_start',
          message: { id: 'm', model: 'c', usage: { input_tokens: 3, output_tokens: 1 } },
        },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
        {
          type: 'message_stop',
          'amazon-bedrock-invocationMetrics': {
            inputTokenCount: 3,
            outputTokenCount: 2,
            invocationLatency: 9,
          },
        },
      ],
      'anthropic.messages',
    ],
    [
      'nova',
      [
        { messageStart: {} },
        { contentBlockDelta: { contentBlockIndex: 0, delta: { text: 'Hello' } } },
        { messageStop: { stopReason: 'end_turn' } },
        { metadata: { usage: { inputTokens: 3, outputTokens: 2 }, metrics: {} } },
      ],
      'bedrock.converse',
    ],
    [
      'titan',
      [
        { outputText: 'Hel', index: 0, totalOutputTextTokenCount: null, inputTextTokenCount: 3 },
        {
          outputText: 'lo',
          index: 0,
          totalOutputTextTokenCount: 2,
          completionReason: 'FINISH',
          inputTextTokenCount: null,
        },
      ],
      'bedrock.invoke.titan',
    ],
    [
      'claude v2',
      [
        { completion: 'Hel', stop_reason: null },
        {
          completion: 'lo',
          stop_reason: 'stop_sequence',
          'amazon-bedrock-invocationMetrics': { inputTokenCount: 3, outputTokenCount: 2 },
        },
      ],
      'bedrock.invoke.claude-v2',
    ],
    [
      'mistral',
      [
        { outputs: [{ text: 'Hel', stop_reason: null }] },
        {
          outputs: [{ text: 'lo', stop_reason: 'stop' }],
          'amazon-bedrock-invocationMetrics': { inputTokenCount: 3, outputTokenCount: 2 },
        },
      ],
      'bedrock.invoke.mistral',
    ],
    [
      'cohere',
      [
        { text: 'Hel', is_finished: false, index: 0 },
        {
          text: 'lo',
          is_finished: true,
          finish_reason: 'COMPLETE',
          'amazon-bedrock-invocationMetrics': { inputTokenCount: 3, outputTokenCount: 2 },
        },
      ],
      'bedrock.invoke.cohere',
    ],
    [
      'chat',
      [
        {
          choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: 'stop' }],
          'amazon-bedrock-invocationMetrics': { inputTokenCount: 3, outputTokenCount: 2 },
        },
      ],
      'openai.chat',
    ],
  ])('an InvokeModel stream of %s, as base64 or raw bytes', (_, chunks, api) => {
    const expected = {
      provider: 'bedrock',
      api,
      text: 'Hello',
      finish: 'stop',
      complete: true,
      usage: { input: 3, output: 2 },
    };
    expect(parse(chunks.map(base64))).toMatchObject(expected);
    expect(
      parse(chunks.map((chunk) => ({ chunk: { bytes: new TextEncoder().encode(JSON.stringify(chunk)) } }))),
    ).toMatchObject(expected);
  });
});

describe('Gemini', () => {
  it('reads every kind of part', () => {
    const record = parse(
      gemini([
        { executableCode: { language: 'PYTHON', code: '2+2' } },
        { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '4' } },
        { inlineData: { mimeType: 'image/png', data: 'AA' } },
        { fileData: { mimeType: 'video/mp4', fileUri: 'gs://x' } },
        { functionResponse: { id: 'f', response: { ok: true } } },
        { toolCall: { id: 't', toolType: 'GOOGLE_SEARCH', args: { q: 1 } } },
        { toolResponse: { id: 't', response: [1] } },
        { text: 'Done', thoughtSignature: 'c2ln' },
        { text: '', thoughtSignature: 'ZW5k' },
        {},
      ]),
    );
    expect(record.toolUses).toMatchObject([
      { name: 'code_execution', executor: 'server', input: { code: '2+2' }, output: '4' },
      { name: 'GOOGLE_SEARCH', executor: 'server', input: { q: 1 }, output: [1] },
    ]);
    expect(record.content.map((part) => part.type)).toEqual([
      'tool_call',
      'tool_result',
      'media',
      'media',
      'tool_result',
      'tool_call',
      'tool_result',
      'text',
      'text',
    ]);
    expect(record).toMatchObject({ text: 'Done', finish: 'stop', subtype: 'response' });
  });

  it('a counter that is left out is zero, a detail without a count is none', () => {
    const usage = (usageMetadata: object) => parse({ ...gemini([]), usageMetadata }).usage;
    expect(usage({ promptTokenCount: 8, totalTokenCount: 8 })).toMatchObject({
      input: 8,
      output: 0,
      total: 8,
    });
    expect(usage({ promptTokenCount: 8, thoughtsTokenCount: 5, totalTokenCount: 13 })).toMatchObject({
      output: 5,
      outputText: 0,
    });
    expect(
      usage({
        promptTokenCount: 8,
        candidatesTokenCount: 1,
        totalTokenCount: 9,
        promptTokensDetails: [{ modality: 'TEXT' }, { modality: 'AUDIO', tokenCount: 3 }],
      })?.modality,
    ).toEqual({ input: { audio: 3 }, output: {} });
    expect(usage({ trafficType: 'ON_DEMAND' })).toBeNull();
    expect(
      codes({
        ...gemini([]),
        usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 5 },
      }),
    ).toContain('usage_total_mismatch');
  });

  it('several candidates are choices, empty content is normal', () => {
    const record = parse({
      candidates: [
        { content: {}, finishReason: 'SAFETY', safetyRatings: [1] },
        { content: { parts: [{ text: 'b' }] }, index: 1, finishReason: 'STOP' },
      ],
    });
    expect(record).toMatchObject({
      text: '',
      finish: 'content_filter',
      choices: [{ text: '' }, { index: 1, text: 'b', finish: 'stop' }],
      safety: [1],
    });
  });

  it('nested pieces of arguments are put together', () => {
    const piece = (functionCall: object, rest: object = {}) => ({
      candidates: [{ content: { parts: [{ functionCall }] }, ...rest }],
    });
    const record = parse([
      piece({ name: 'f', id: 'x', willContinue: true }),
      piece({
        partialArgs: [{ jsonPath: '$.a[0].b', stringValue: 'on', willContinue: true }],
        willContinue: true,
      }),
      piece({
        partialArgs: [
          { jsonPath: '$.a[0].b', stringValue: 'e' },
          { jsonPath: '$.a[1].b', boolValue: true },
          { jsonPath: "$['odd key']", nullValue: 'NULL_VALUE' },
        ],
        willContinue: true,
      }),
      piece({}),
      piece({ name: 'g', args: { whole: 1 } }, { finishReason: 'STOP' }),
    ]);
    expect(record.toolUses.map(({ id, name, input }) => [id, name, input])).toEqual([
      ['x', 'f', { a: [{ b: 'one' }, { b: true }], 'odd key': null }],
      ['call_1', 'g', { whole: 1 }],
    ]);
  });

  it('Interactions: every step has its place, streamed too', () => {
    const steps = [
      { type: 'user_input', content: [{ type: 'text', text: 'Hi' }] },
      { type: 'google_search_call', id: 'g', arguments: { queries: ['q'] } },
      { type: 'google_search_result', call_id: 'g', result: [{ url: 'u' }] },
      { type: 'mcp_server_tool_call', id: 'm', name: 'h', server_name: 's', arguments: {} },
      {
        type: 'model_output',
        content: [
          { type: 'text', text: 'Yes.', annotations: [{ type: 'url_citation', url: 'https://a.example' }] },
          { type: 'image', mime_type: 'image/png', data: 'AA' },
        ],
      },
    ];
    const whole = parse({ object: 'interaction', id: 'i', status: 'completed', steps });
    expect(whole).toMatchObject({ text: 'Yes.', finish: 'stop', citations: [{ url: 'https://a.example' }] });
    expect(whole.toolUses).toMatchObject([
      { name: 'google_search', executor: 'server', output: [{ url: 'u' }] },
      { name: 'h', kind: 'mcp' },
    ]);
    const streamed = parse([
      {
        event_type: 'interaction.created',
        interaction: { id: 'i', status: 'in_progress', object: 'interaction' },
      },
      ...steps.slice(0, 4).map((step, index) => ({ event_type: 'step.start', index, step })),
      { event_type: 'step.start', index: 4, step: { type: 'model_output' } },
      { event_type: 'step.delta', index: 4, delta: { type: 'text', text: 'Y' } },
      { event_type: 'step.delta', index: 4, delta: { type: 'text', text: 'es.' } },
      {
        event_type: 'step.delta',
        index: 4,
        delta: {
          type: 'text_annotation_delta',
          annotations: [{ type: 'url_citation', url: 'https://a.example' }],
        },
      },
      { event_type: 'step.delta', index: 4, delta: { type: 'image', mime_type: 'image/png', data: 'AA' } },
      { event_type: 'step.stop', index: 4 },
      {
        event_type: 'interaction.completed',
        interaction: { id: 'i', status: 'completed', object: 'interaction' },
      },
    ]);
    expect({ ...streamed, streamed: false, warnings: [] }).toEqual({ ...whole, warnings: [] });
    expect(parse([{ event_type: 'error', error: { code: 429, message: 'slow down' } }]).error).toMatchObject({
      message: 'slow down',
    });
  });

  it('Live: a written turn, an interruption, a cancelled call, counts summed over turns', () => {
    const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };
    const record = parse([
      { serverContent: { modelTurn: { parts: [{ text: 'Thinking', thought: true }, { text: 'Hel' }] } } },
      { serverContent: { modelTurn: { parts: [{ text: 'lo' }] } } },
      { serverContent: { turnComplete: true }, usageMetadata },
      { toolCall: { functionCalls: [{ id: 'a', name: 'f', args: {} }] } },
      { toolCallCancellation: { ids: ['a'] } },
      { serverContent: { interrupted: true } },
      { serverContent: { turnComplete: true }, usageMetadata },
    ]);
    expect(record).toMatchObject({
      text: 'Hello',
      thinking: 'Thinking',
      complete: true,
      finish: 'incomplete',
      usage: { input: 20, output: 10, total: 30 },
      live: { turns: 2, interrupted: 1 },
    });
    expect(record.toolUses).toMatchObject([{ id: 'a', status: 'failed' }]);
    expect(
      parse([
        { serverContent: { modelTurn: { parts: [{ text: 'x' }] } } },
        { serverContent: { turnComplete: true, turnCompleteReason: 'RESPONSE_REJECTED' } },
      ]),
    ).toMatchObject({ stopReason: 'RESPONSE_REJECTED', finish: 'content_filter' });
  });
});

describe("Anthropic's first API", () => {
  const body = {
    type: 'completion',
    id: 'compl_1',
    completion: ' Hello!',
    stop_reason: 'stop_sequence',
    stop: '\n\nHuman:',
    model: 'claude-2.1',
    log_id: 'compl_1',
  };
  const expected = {
    provider: 'anthropic',
    api: 'anthropic.complete',
    id: 'compl_1',
    model: 'claude-2.1',
    text: ' Hello!',
    stopReason: 'stop_sequence',
    finish: 'stop',
    stopDetail: { sequence: '\n\nHuman:' },
    complete: true,
    usage: null,
  };

  it('is read whole', () => {
    expect(parse(body)).toMatchObject({ ...expected, streamed: false });
  });

  it('is read from its stream', () => {
    const event = (completion: string, rest: object = { stop_reason: null, stop: null }) =>
      `event: completion\ndata: ${JSON.stringify({ ...body, completion, ...rest })}\n\n`;
    const text = `${event(' Hel')}event: ping\ndata: {}\n\n${event('lo!')}${event('', { stop_reason: body.stop_reason, stop: body.stop })}`;
    expect(parse(text)).toMatchObject({ ...expected, streamed: true });
  });

  it('is not the one of Claude 2 behind Bedrock, which names no model', () => {
    const { model: _, id: _id, log_id: _log, ...rest } = body;
    expect(parse(rest)).toMatchObject({
      provider: 'bedrock',
      api: 'bedrock.invoke.claude-v2',
      text: ' Hello!',
    });
  });
});

describe('Perplexity', () => {
  const citations = ['https://a.example', 'https://b.example'];
  const search_results = citations.map((url, i) => ({ title: `Title ${i}`, url, date: null }));
  const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
  const found = (raw: unknown) => parse(raw).citations.map(({ url, title }) => ({ url, title }));

  it('lists sources beside the choices, with titles or only as addresses, each told once', () => {
    const body = chat({ content: 'Yes [1][2].' }, { usage });
    const titled = search_results.map(({ url, title }) => ({ url, title }));
    expect(found({ ...body, citations })).toEqual(citations.map((url) => ({ url, title: null })));
    expect(found({ ...body, citations, search_results })).toEqual(titled);
    expect(found({ ...body, search_results, citations })).toEqual(titled);
  });

  it('repeats them in every chunk of a stream', () => {
    const chunk = (content: string, finish_reason: string | null) => ({
      id: 'p',
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta: { content }, finish_reason }],
      usage,
      citations,
      search_results,
    });
    const events = [chunk('Yes ', null), chunk('[1].', 'stop')];
    expect(parse(events)).toMatchObject({ text: 'Yes [1].', complete: true });
    expect(found(events)).toHaveLength(2);
  });
});

describe('what the Python SDK of Gemini stores', () => {
  /** Everything in snake_case, and null for what was not sent. */
  const dumped = (value: unknown, key = ''): unknown => {
    if (Array.isArray(value)) return value.map((entry) => dumped(entry));
    if (typeof value !== 'object' || value === null || key === 'args') return value;
    const entries = Object.entries(value).map(([name, inner]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      dumped(inner, name),
    ]);
    return key === 'promptFeedback'
      ? Object.fromEntries(entries)
      : { ...Object.fromEntries(entries), video_metadata: null, automatic_function_calling_history: null };
  };
  const parts = [
    { text: 'Think.', thought: true },
    { functionCall: { id: 'f', name: 'look', args: { farAway: true, near_by: 1 } }, thoughtSignature: 's' },
  ];
  const body = {
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }],
    usageMetadata: {
      promptTokenCount: 3,
      candidatesTokenCount: 2,
      thoughtsTokenCount: 4,
      totalTokenCount: 9,
    },
    modelVersion: 'gemini-3-pro',
    responseId: 'r1',
  };
  const live = [
    { setupComplete: { sessionId: 's' } },
    { serverContent: { outputTranscription: { text: 'Hi' } } },
    { serverContent: { turnComplete: true }, usageMetadata: { promptTokenCount: 1, responseTokenCount: 2 } },
    { toolCall: { functionCalls: [{ id: 'f', name: 'look', args: { far_away: 1 } }] } },
  ];

  it.each<[string, unknown]>([
    ['a whole response', body],
    [
      'a stream',
      [{ ...body, usageMetadata: undefined }, body].map((event) => JSON.parse(JSON.stringify(event))),
    ],
    [
      'a blocked prompt',
      { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 1 } },
    ],
    ['a Live session', live],
  ])('%s is read as what was sent', (_, sent) => {
    expect(parse(dumped(sent))).toEqual(parse(sent));
  });

  it('the arguments of a function keep their names, and the stored body is kept as it is', () => {
    const stored = dumped(body);
    const record = parse(stored, { raw: true });
    expect(record.toolUses[0]).toMatchObject({ input: { farAway: true, near_by: 1 }, signature: 's' });
    expect(record.raw).toBe(stored);
  });

  it('so are its counts alone', () => {
    expect(usageOf(dumped(body.usageMetadata))).toEqual(usageOf(body.usageMetadata));
  });
});

describe('errors', () => {
  it.each([
    [
      'OpenAI',
      { error: { message: 'm', type: 't', param: null, code: 'c' } },
      { type: 't', code: 'c', message: 'm' },
      'openai',
    ],
    [
      'Groq',
      { error: { message: 'm', type: 'invalid_request_error', failed_generation: 'x' } },
      { type: 'invalid_request_error' },
      'openai',
    ],
    [
      'OpenRouter',
      { error: { message: 'm', code: 402, metadata: {} } },
      { code: 402, status: 402 },
      'openai',
    ],
    [
      'Azure',
      { error: { message: 'm', code: 'content_filter', status: 400, innererror: {} } },
      { code: 'content_filter', status: 400 },
      'openai',
    ],
    ['xAI', { code: 'bad', error: 'wrong key' }, { code: 'bad', message: 'wrong key' }, 'openai'],
    [
      'Mistral',
      { object: 'error', message: 'm', type: 'invalid', code: '1' },
      { type: 'invalid', message: 'm' },
      'openai',
    ],
    ['FastAPI servers', { detail: 'Not Found' }, { message: 'Not Found' }, 'openai'],
    [
      'Anthropic',
      { type: 'error', error: { type: 'rate_limit_error', message: 'm' } },
      { type: 'rate_limit_error' },
      'anthropic',
    ],
    ['a message alone, which could be anyone’s', { message: 'm' }, { message: 'm', type: null }, 'unknown'],
    ['Bedrock', { Message: 'm' }, { message: 'm', type: null }, 'bedrock'],
    [
      'Bedrock, capital',
      { Message: 'm', __type: 'AccessDeniedException' },
      { message: 'm', type: 'AccessDeniedException' },
      'bedrock',
    ],
    [
      'Gemini',
      { error: { code: 400, message: 'm', status: 'INVALID_ARGUMENT' } },
      { code: 400, status: 400, type: 'INVALID_ARGUMENT' },
      'gemini',
    ],
    [
      'Gemini, streamed',
      [{ error: { code: 503, message: 'm', status: 'UNAVAILABLE' } }],
      { status: 503 },
      'gemini',
    ],
    [
      'Responses, streamed',
      [{ type: 'error', code: 'server_error', message: 'm', param: null, sequence_number: 3 }],
      { code: 'server_error', message: 'm', type: null },
      'openai',
    ],
  ])('%s', (_, raw, error, provider) => {
    const record = parse(raw);
    expect(record).toMatchObject({ provider, finish: 'error', usage: null, error });
  });

  it('the HTTP side adds status, delay and type', () => {
    const record = parse(
      { message: 'm' },
      { status: 429, headers: { 'retry-after': '2', 'x-amzn-errortype': 'ThrottlingException:http://x' } },
    );
    expect(record).toMatchObject({ provider: 'bedrock', api: 'bedrock.converse' });
    expect(record.error).toEqual({
      type: 'ThrottlingException',
      code: null,
      message: 'm',
      status: 429,
      retryAfterMs: 2000,
    });
  });
});

describe('finish and usage by themselves', () => {
  it.each([
    ['stop', 'stop', 'stop'],
    ['end_turn', 'stop', 'stop'],
    ['STOP', 'stop', 'stop'],
    ['COMPLETE', 'stop', 'stop'],
    ['FINISH', 'stop', 'stop'],
    ['endoftext', 'stop', 'stop'],
    ['eos', 'stop', 'stop'],
    ['length', 'length', 'length'],
    ['MAX_TOKENS', 'length', 'length'],
    ['max_output_tokens', 'length', 'length'],
    ['model_context_window_exceeded', 'length', 'length'],
    ['CONTINUATION', 'length', 'length'],
    ['tool_use', 'tool_calls', 'tool-calls'],
    ['function_call', 'tool_calls', 'tool-calls'],
    ['requires_action', 'tool_calls', 'tool-calls'],
    ['SAFETY', 'content_filter', 'content-filter'],
    ['RECITATION', 'content_filter', 'content-filter'],
    ['PROHIBITED_CONTENT', 'content_filter', 'content-filter'],
    ['IMAGE_SAFETY', 'content_filter', 'content-filter'],
    ['MODEL_ARMOR', 'content_filter', 'content-filter'],
    ['guardrail_intervened', 'content_filter', 'content-filter'],
    ['refusal', 'refusal', 'content-filter'],
    ['pause_turn', 'pause', 'stop'],
    ['MALFORMED_FUNCTION_CALL', 'error', 'error'],
    ['malformed_model_output', 'error', 'error'],
    ['TOO_MANY_TOOL_CALLS', 'error', 'error'],
    ['failed', 'error', 'error'],
    ['in_progress', 'incomplete', 'other'],
    ['cancelled', 'incomplete', 'other'],
    ['OTHER', 'other', 'other'],
    ['FINISH_REASON_UNSPECIFIED', 'other', 'other'],
  ] as const)('%s is %s, to the AI SDK %s', (raw, finish, aiSdk) => {
    expect(finishOf(raw)).toBe(finish);
    expect(aiSdkFinishOf(finish)).toBe(aiSdk);
  });

  it('stop with a call is tool_calls, with a refusal a refusal; what is unknown is other, with a warning', () => {
    expect(finishOf('STOP', { hasToolCalls: true })).toBe('tool_calls');
    expect(finishOf('stop', { hasRefusal: true })).toBe('refusal');
    expect(finishOf('length', { hasToolCalls: true })).toBe('length');
    expect([finishOf(null), finishOf(undefined), aiSdkFinishOf(null)]).toEqual([null, null, 'other']);
    expect(codes(chat({ content: 'x' }, { finish_reason: 'brand_new' }))).toContain('unknown_stop_reason');
  });

  it('usageOf reads any provider’s usage object', () => {
    const gemini = {
      promptTokenCount: 10,
      candidatesTokenCount: 5,
      thoughtsTokenCount: 3,
      cachedContentTokenCount: 4,
      toolUsePromptTokenCount: 2,
      totalTokenCount: 20,
    };
    expect(usageOf(gemini)).toMatchObject({
      input: 12,
      output: 8,
      reasoning: 3,
      cacheRead: 4,
      total: 20,
      reported: { input: 10, output: 5, total: 20 },
    });
    expect(
      usageOf({
        promptTokenCount: 10,
        responseTokenCount: 5,
        thoughtsTokenCount: 3,
        totalTokenCount: 15,
      }),
    ).toMatchObject({ input: 10, output: 8, total: 15 });
    expect(usageOf({ input_tokens: 1, cache_read_input_tokens: 2, output_tokens: 3 })).toMatchObject({
      input: 3,
      output: 3,
      total: 6,
    });
    expect(usageOf({ input_tokens: 5, output_tokens: 3, total_tokens: 8 })).toMatchObject({
      input: 5,
      output: 3,
    });
    expect(usageOf({ inputTokens: 1, outputTokens: 2, totalTokens: 3 })).toMatchObject({
      input: 1,
      output: 2,
    });
    expect(usageOf({ prompt_tokens: 1, completion_tokens: 2 })).toMatchObject({
      input: 1,
      output: 2,
      total: 3,
    });
  });
});

describe('detect', () => {
  it.each([
    [{ object: 'chat.completion', choices: [] }, 'openai.chat', 'named'],
    [{ choices: [{ message: {} }] }, 'openai.chat', 'shape'],
    [{ object: 'text_completion', choices: [{ text: '' }] }, 'openai.completions', 'named'],
    [{ object: 'response', output: [] }, 'openai.responses', 'named'],
    [{ type: 'message', content: [] }, 'anthropic.messages', 'named'],
    [{ content: [], usage: { input_tokens: 1 } }, 'anthropic.messages', 'shape'],
    [{ output: { message: {} } }, 'bedrock.converse', 'shape'],
    [{ candidates: [] }, 'gemini.generateContent', 'shape'],
    [{ usageMetadata: {} }, 'gemini.generateContent', 'shape'],
    [{ usageMetadata: {}, serverContent: {} }, 'gemini.live', 'shape'],
    [{ object: 'interaction', steps: [] }, 'gemini.interactions', 'named'],
    [{ generation: '' }, 'bedrock.invoke.llama', 'shape'],
    [{ completions: [] }, 'bedrock.invoke.ai21', 'shape'],
  ])('%j is %s', (raw, api, confidence) => {
    expect(detect(raw)).toEqual({ api, confidence, event: api === 'gemini.live' });
  });

  it.each([null, 1, 'x', {}, [], { error: {} }, { hello: 1 }])('%j is none', (raw) => {
    expect(detect(raw)).toBeNull();
  });
});

describe('what is round a response', () => {
  const message = anthropic([{ type: 'text', text: 'Hi' }], { usage: { input_tokens: 3, output_tokens: 2 } });
  const failed = { error: { message: 'bad', type: 'invalid_request_error', param: null, code: null } };

  it.each([
    [
      "OpenAI's batch",
      { id: 'b', custom_id: 'r', response: { status_code: 200, body: message }, error: null },
    ],
    ["Anthropic's batch", { custom_id: 'r', result: { type: 'succeeded', message } }],
    ["Bedrock's batch", { recordId: '1', modelInput: { messages: [] }, modelOutput: message }],
    ["Bedrock's log", { schemaType: 'ModelInvocationLog', output: { outputBodyJson: message } }],
    ['a recording with the body as text', { response: { body: JSON.stringify(message) } }],
  ])('a line of %s is looked into', (_, line) => {
    expect(parse(line)).toMatchObject({ api: 'anthropic.messages', text: 'Hi', usage: { total: 5 } });
    expect(detect(line)).toMatchObject({ api: 'anthropic.messages' });
  });

  it.each([
    ["OpenAI's batch", { custom_id: 'r', response: { status_code: 400, body: failed }, error: null }],
    [
      "Anthropic's batch",
      {
        custom_id: 'r',
        result: {
          type: 'errored',
          error: { type: 'error', error: { type: 'invalid_request_error', message: 'bad' } },
        },
      },
    ],
  ])('an error in a line of %s is that error', (_, line) => {
    expect(parse(line)).toMatchObject({
      finish: 'error',
      error: { type: 'invalid_request_error', message: 'bad' },
    });
  });

  it('events with their names beside them are read, as objects or as text', () => {
    const events = [
      { type: 'message_start', message: { ...message, content: [] } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
      { type: 'message_stop' },
    ];
    const named = (wrap: (data: unknown) => unknown) =>
      parse(events.map((data) => ({ event: data.type, data: wrap(data) })));
    expect(named((data) => data)).toMatchObject({ text: 'Hi', complete: true });
    expect(named((data) => JSON.stringify(data))).toMatchObject({ text: 'Hi', complete: true });
  });

  it('wrappers without end are given up', () => {
    let deep: unknown = message;
    for (let i = 0; i < 50_000; i++) deep = { response: deep };
    expect(parse(deep).error).toMatchObject({ code: 'unknown_shape' });
  });
});

describe('more of the wild', () => {
  it("Azure's filter results are stated anew with each chunk", () => {
    const chunk = (content: string) => ({
      choices: [
        {
          index: 0,
          delta: { content },
          content_filter_results: { hate: { filtered: false, severity: 'safe' } },
        },
      ],
    });
    expect(parse([chunk('a'), chunk('b')]).safety).toEqual({ hate: { filtered: false, severity: 'safe' } });
  });

  it('a stream whose first chunk has no choices is one response', () => {
    const record = parse([
      { id: '', object: '', model: '', choices: [], prompt_filter_results: [1] },
      { id: 'c', choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] },
    ]);
    expect(record).toMatchObject({ id: 'c', text: 'Hi', streamed: true, complete: true, safety: [1] });
  });

  it('an approval that was answered changes no other call', () => {
    const record = parse(
      response(
        { type: 'mcp_call', id: 'm', name: 'f', arguments: '{}', output: 'ok' },
        { type: 'mcp_approval_response', approval_request_id: 'a', approve: true, id: 'z' },
      ),
    );
    expect(record.toolUses).toMatchObject([{ id: 'm', output: 'ok', status: 'completed' }]);
  });

  it('proxies that name the cache twice count it once', () => {
    expect(
      chatUsage({
        prompt_tokens: 100,
        completion_tokens: 2,
        total_tokens: 102,
        cache_read_input_tokens: 80,
        cache_creation_input_tokens: 5,
        prompt_tokens_details: { cached_tokens: 80 },
      }),
    ).toMatchObject({ input: 100, cacheRead: 80, cacheWrite: 5, inputUncached: 15, total: 102 });
  });

  it('arguments that come as an object need no parsing, whole or streamed', () => {
    const call = { index: 0, id: 'a', function: { name: 'f', arguments: { x: 1 } } };
    for (const raw of [
      chat({ content: null, tool_calls: [call] }),
      [{ choices: [{ index: 0, delta: { tool_calls: [call] } }] }],
    ])
      expect(parse(raw).toolUses).toMatchObject([{ id: 'a', name: 'f', input: { x: 1 }, inputValid: true }]);
  });

  it('parts with a null for everything that they are not are read by what they are', () => {
    const nothing = { videoMetadata: null, thought: null, inlineData: null, text: null };
    expect(
      parse(gemini([{ ...nothing, functionCall: { id: null, name: 'f', args: { a: 1 } } }])).toolUses,
    ).toMatchObject([{ name: 'f', input: { a: 1 }, idSynthesized: true }]);
  });

  it('Interactions had outputs before they had steps', () => {
    expect(
      parse({ object: 'interaction', status: 'completed', outputs: [{ type: 'text', text: 'Hi' }] }),
    ).toMatchObject({ text: 'Hi', finish: 'stop' });
  });

  it('a search result in Converse is no result of a call', () => {
    const record = parse(
      converse([{ toolUse: { toolUseId: 't', name: 'f', input: {} } }, { searchResult: { source: 's' } }]),
    );
    expect(record.toolUses).toMatchObject([{ id: 't', status: 'pending' }]);
    expect(record.content[1]).toMatchObject({ type: 'other', kind: 'searchResult' });
  });

  it('every kind of grounding chunk is a citation with its address', () => {
    const groundingChunks = [
      { web: { uri: 'https://w.example', title: 'W' } },
      { maps: { uri: 'https://m.example', title: 'M', placeId: 'p' } },
      { retrievedContext: { uri: 'gs://r', title: 'R', text: 't' } },
      { image: { sourceUri: 'https://s.example', imageUri: 'https://i.example', title: 'I' } },
    ];
    const citations = [{ uri: 'https://c.example', license: 'MIT', publicationDate: { year: 2020 } }];
    const record = parse(
      gemini([{ text: 'x' }], { citationMetadata: { citations }, groundingMetadata: { groundingChunks } }),
    );
    expect(record.citations.map(({ url, title, text }) => [url, title, text])).toEqual([
      ['https://c.example', null, null],
      ['https://w.example', 'W', null],
      ['https://m.example', 'M', null],
      ['gs://r', 'R', 't'],
      ['https://s.example', 'I', null],
    ]);
  });

  it('hosts of several makers may send either shape, OpenAI only its own', () => {
    const body = anthropic([{ type: 'text', text: 'Hi' }]);
    expect(codes(body, { provider: 'azure' })).not.toContain('provider_mismatch');
    expect(codes(body, { provider: 'openrouter' })).not.toContain('provider_mismatch');
    expect(codes(body, { provider: 'openai' })).toContain('provider_mismatch');
    expect(codes(gemini([]), { provider: 'azure' })).toContain('provider_mismatch');
  });

  it('chunks that repeat the whole message beside the delta count once', () => {
    const chunk = (content: string, whole: string, rest: object = {}) => ({
      choices: [{ index: 0, text: content, message: { content: whole }, delta: { content }, ...rest }],
    });
    const record = parse([chunk('Hel', 'Hel'), chunk('lo', 'Hello', { finish_reason: 'stop' })]);
    expect(record).toMatchObject({ api: 'openai.chat', text: 'Hello', complete: true });
    expect(record.content).toHaveLength(1);
  });

  it.each([
    ['sensitive', 'content_filter'],
    ['content_filter: PROHIBITED_CONTENT', 'content_filter'],
    ['abort', 'incomplete'],
    ['eos_token', 'stop'],
    ['network_error', 'error'],
    ['ERROR_LIMIT', 'length'],
    ['ERROR_TOXIC', 'content_filter'],
    ['USER_CANCEL', 'incomplete'],
    ['insufficient_system_resource', 'error'],
  ])('%s of a relative is %s', (reason, finish) => {
    expect(finishOf(reason)).toBe(finish);
  });

  it('an upstream error in the last chunk keeps the text', () => {
    const record = parse([
      { id: 'g', choices: [{ index: 0, delta: { content: 'Hi' } }] },
      {
        id: 'g',
        choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
        error: { code: 502, message: 'Upstream' },
      },
    ]);
    expect(record).toMatchObject({
      text: 'Hi',
      finish: 'error',
      error: { status: 502, message: 'Upstream' },
    });
  });

  it('one counter alone is read, and only Google leaves out a counter of zero', () => {
    expect(usageOf({ outputTokens: 4 })).toMatchObject({ input: null, output: 4 });
    expect(usageOf({ total_output_tokens: 4 })).toMatchObject({ input: null, output: 4 });
    expect(usageOf({ prompt_tokens: 4, total_tokens: 4 })).toMatchObject({
      input: 4,
      output: null,
    });
    expect(usageOf({ promptTokenCount: 4, totalTokenCount: 4 })).toMatchObject({
      input: 4,
      output: 0,
    });
    expect(usageOf({ candidatesTokenCount: 4, totalTokenCount: 4 })).toMatchObject({
      input: 0,
      output: 4,
    });
  });

  it('a part with nothing in it is no call', () => {
    const record = parse(converse([{ toolUse: null }, {}, { text: 'Hi' }]));
    expect(record).toMatchObject({ text: 'Hi', toolUses: [], subtype: 'response' });
    expect(record.content.map((part) => part.type)).toEqual(['other', 'text']);
  });

  it('a batch of requests is no response', () => {
    for (const raw of [
      { type: 'message_batch', id: 'b', processing_status: 'ended' },
      { object: 'batch', id: 'b', status: 'completed' },
      { object: 'list', data: [{ id: 'gpt', object: 'model' }] },
    ])
      expect(parse(raw).error).toMatchObject({ code: 'unknown_shape' });
  });

  it('Titan leaves out what a chunk does not say', () => {
    const action = { 'amazon-bedrock-guardrailAction': 'INTERVENED' };
    const record = parse([
      { outputText: 'A', index: 0, inputTextTokenCount: 28, ...action },
      { outputText: 'B', index: 0, ...action },
      { outputText: 'C', index: 0, totalOutputTextTokenCount: 188, completionReason: 'FINISH', ...action },
    ]);
    expect(record).toMatchObject({
      text: 'ABC',
      stopReason: 'FINISH',
      finish: 'content_filter',
      complete: true,
    });
    expect(record.usage).toMatchObject({ input: 28, output: 188 });
  });

  it('several outputs in one chunk that are not numbered are several choices', () => {
    const generations = [
      { finish_reason: 'MAX_TOKENS', text: ' A' },
      { finish_reason: 'MAX_TOKENS', text: ' B' },
    ];
    const record = createAccumulator().push({ generations, id: 'g' }).end();
    expect(record).toMatchObject({ text: ' A', choices: [{ text: ' A' }, { text: ' B' }] });
    expect(record).toMatchObject({ api: 'bedrock.invoke.cohere', finish: 'length', complete: true });
  });

  it('Gemini Interactions streamed before there were steps', () => {
    const events = [
      {
        event_type: 'interaction.start',
        interaction: { id: 'v1', object: 'interaction', status: 'in_progress' },
      },
      { event_type: 'content.start', index: 0, content: { type: 'thought' } },
      {
        event_type: 'content.delta',
        index: 0,
        delta: { type: 'thought_summary', content: { type: 'text', text: 'Hm' } },
      },
      { event_type: 'content.delta', index: 0, delta: { type: 'thought_signature', signature: 's' } },
      { event_type: 'content.start', index: 1, content: { type: 'text' } },
      { event_type: 'content.delta', index: 1, delta: { type: 'text', text: 'Hel' } },
      { event_type: 'content.delta', index: 1, delta: { type: 'text', text: 'lo' } },
      { event_type: 'content.stop', index: 1 },
      {
        event_type: 'content.delta',
        index: 2,
        delta: { type: 'function_call', id: 'c', name: 'f', arguments: { a: 1 } },
      },
      {
        event_type: 'interaction.complete',
        interaction: {
          id: 'v1',
          status: 'requires_action',
          usage: { total_input_tokens: 3, total_output_tokens: 4, total_tokens: 7 },
        },
      },
    ];
    const record = parse(events);
    expect(record).toMatchObject({
      api: 'gemini.interactions',
      text: 'Hello',
      thinking: 'Hm',
      complete: true,
      finish: 'tool_calls',
    });
    expect(record.toolUses).toMatchObject([{ id: 'c', name: 'f', input: { a: 1 }, executor: 'client' }]);
    expect(record.content[0]).toEqual({ type: 'reasoning', text: 'Hm', signature: 's' });
    expect(record.usage).toMatchObject({ input: 3, output: 4 });
    const final = { id: 'v1', status: 'completed', outputs: [{ type: 'text', text: 'Hello' }] };
    const bare = parse([events[0], { event_type: 'interaction.complete', interaction: final }]);
    expect(bare).toMatchObject({ text: 'Hello', complete: true });
  });

  it('the sources of every chunk of a Gemini stream are kept', () => {
    const chunk = (text: string, more: object) => ({
      candidates: [{ content: { parts: [{ text }], role: 'model' }, index: 0, ...more }],
      usageMetadata: { promptTokenCount: 1, totalTokenCount: 2, candidatesTokenCount: 1 },
    });
    const grounding = (uri: string) => ({ groundingMetadata: { groundingChunks: [{ web: { uri } }] } });
    const cited = (uri: string) => ({ citationMetadata: { citationSources: [{ uri }] } });
    expect(
      parse([
        chunk('a', grounding('u:1')),
        chunk('b', { groundingMetadata: {} }),
        chunk('c', { ...grounding('u:2'), finishReason: 'STOP' }),
      ]).citations.map(({ url }) => url),
    ).toEqual(['u:1', 'u:2']);
    expect(
      parse([
        chunk('a', cited('u:1')),
        chunk('b', { ...cited('u:2'), finishReason: 'RECITATION' }),
      ]).citations.map(({ url }) => url),
    ).toEqual(['u:1', 'u:2']);
  });

  it('a citation of Bedrock may have a block of its own', () => {
    const record = parse([
      { messageStart: { role: 'assistant' } },
      { contentBlockDelta: { contentBlockIndex: 0, delta: { text: 'Hi' } } },
      {
        contentBlockDelta: {
          contentBlockIndex: 1,
          delta: { citation: { location: { web: { url: 'u:1' } } } },
        },
      },
      { messageStop: { stopReason: 'end_turn' } },
      { metadata: { usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 }, metrics: { latencyMs: 1 } } },
    ]);
    expect(record).toMatchObject({ text: 'Hi', warnings: [], citations: [{ url: 'u:1' }] });
  });

  it('headers as recordings store them, each a list', () => {
    const headers = { 'X-Amzn-Bedrock-Input-Token-Count': ['7'], 'X-Amzn-Bedrock-Output-Token-Count': ['9'] };
    const record = parse({ completion: ' Hi', stop_reason: 'stop_sequence' }, { headers });
    expect(record.usage).toMatchObject({ input: 7, output: 9, source: 'headers' });
  });

  it('Perplexity has a delta beside the message, also in a whole response', () => {
    const choice = (content: string, delta: string, finish_reason: string | null) => ({
      index: 0,
      finish_reason,
      message: { role: 'assistant', content },
      delta: { role: 'assistant', content: delta },
    });
    const body = (entry: object) => ({
      id: 'p',
      object: 'chat.completion',
      model: 'sonar',
      choices: [entry],
    });
    const whole = body(choice('Hi there', '', 'stop'));
    for (const raw of [whole, JSON.stringify(whole), [whole]]) expect(parse(raw).text).toBe('Hi there');
    const streamed = [body(choice('Hi', 'Hi', null)), body(choice('Hi there', ' there', 'stop'))];
    expect(parse(streamed)).toMatchObject({ text: 'Hi there', complete: true });
  });

  it('a cache that is told among the details is inside the input', () => {
    const input_tokens_details = {
      cache_creation_input_tokens: 1224,
      cache_read_input_tokens: 1780,
      cached_tokens: 1780,
    };
    const usage = { input_tokens: 3007, input_tokens_details, output_tokens: 36, total_tokens: 3043 };
    const record = parse({ object: 'response', status: 'completed', output: [], usage });
    expect(record.warnings).toEqual([]);
    expect(record.usage).toMatchObject({ input: 3007, inputUncached: 3, cacheRead: 1780, cacheWrite: 1224 });
  });

  it('xAI runs its searches itself, and an empty call id is none', () => {
    const search = {
      type: 'custom_tool_call',
      call_id: 'xs_call_1',
      name: 'x_keyword_search',
      input: '{"query":"x"}',
    };
    const web = { type: 'web_search_call', call_id: '', id: 'fc_1', name: 'web_search', arguments: '{}' };
    const record = parse({ object: 'response', status: 'completed', output: [search, web] });
    expect(record.toolUses).toMatchObject([
      { id: 'xs_call_1', name: 'x_keyword_search', executor: 'server', status: 'completed' },
      { id: 'fc_1', name: 'web_search', executor: 'server', idSynthesized: false },
    ]);
    expect(record).toMatchObject({ finish: 'stop', subtype: 'response' });
  });

  it('streamed calls without index and id are told apart by their names', () => {
    const chunk = (tool_calls: object[]) => ({
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta: { tool_calls } }],
    });
    const call = (name: string, args: string) => ({ id: '', function: { name, arguments: args } });
    const more = { function: { arguments: ':2}' } };
    for (const events of [
      [chunk([call('f', '{"x":1}'), call('g', '{"y"'), more])],
      [chunk([call('f', '{"x":1}')]), chunk([call('g', '{"y"')]), chunk([more])],
    ])
      expect(parse(events).toolUses).toMatchObject([
        { name: 'f', input: { x: 1 } },
        { name: 'g', input: { y: 2 } },
      ]);
  });

  it('a bare error object keeps its type', () => {
    const error = { message: 'bad', type: 'invalid_request_error', param: null, code: 'c' };
    expect(parse(error).error).toMatchObject({ type: 'invalid_request_error', code: 'c', message: 'bad' });
  });

  it('a failed response that does not say why is an error all the same', () => {
    const record = parse({ object: 'response', id: 'r', status: 'failed', error: null, output: [] });
    expect(record).toMatchObject({ finish: 'error', error: { message: 'no message' } });
  });
});
