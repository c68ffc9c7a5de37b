import { readFileSync } from 'node:fs';
import { type ParsedResponse, parse, parseStream } from 'duologue/parse';
import { detect } from 'duologue/parse/pieces';
import { describe, expect, it } from 'vitest';

const load = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../fixtures/responses/${name}.json`, import.meta.url), 'utf8'))
    .response;
const codes = (record: ParsedResponse) => record.warnings.map((warning) => warning.code);
const lines = (events: unknown[]) => events.map((event) => `${JSON.stringify(event)}\n`).join('');
const head = { model: 'qwen3:8b', created_at: '2026-11-18T08:00:00Z' };

describe("Ollama's own API", () => {
  it('is told by its `done` field, and not from a wrapper that has one', () => {
    expect(detect(load('ollama_chat'))).toEqual({ api: 'ollama.chat', event: false, confidence: 'shape' });
    expect(detect(load('ollama_generate_stream')[0])).toMatchObject({ api: 'ollama.generate', event: true });
    expect(detect({ done: true })).toBeNull();
    const inner = { object: 'chat.completion', choices: [{ message: { content: 'Hi' } }] };
    expect(detect({ done: true, response: inner })?.api).toBe('openai.chat');
  });

  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['load', 'other'],
    ['unload', 'other'],
  ])('a done_reason of %s finishes as %s', (done_reason, finish) => {
    const record = parse({ ...load('ollama_generate'), done_reason });
    expect(record).toMatchObject({ stopReason: done_reason, finish });
    expect(codes(record)).toEqual([]);
  });

  it('counts cached tokens as part of the prompt', () => {
    expect(parse(load('ollama_chat')).usage).toMatchObject({
      input: 26,
      inputUncached: 18,
      cacheRead: 8,
      output: 18,
      total: 44,
    });
  });

  it('keeps the thoughts, text and calls of a stream that is cut anywhere', () => {
    const chat = load('ollama_chat_stream');
    expect(parse(lines(chat.slice(0, 5)))).toMatchObject({
      api: 'ollama.chat',
      model: 'qwen3:8b',
      thinking: 'I need two tools.',
      text: 'Let me look.',
      toolUses: [{ id: 'call_a', input: { city: 'Oslo' } }],
      complete: false,
      finish: 'incomplete',
      usage: null,
    });
    const text = lines(load('ollama_generate_stream'));
    const cut = parse(text.slice(0, text.indexOf('Because')));
    expect(cut).toMatchObject({ api: 'ollama.generate', thinking: 'Hmm.', text: '', complete: false });
  });

  it('ends with a chunk without a message on older servers', () => {
    const record = parse([
      { ...head, message: { role: 'assistant', content: 'Hi', images: null }, done: false },
      { ...head, done: true, total_duration: 5e6, prompt_eval_count: 3, eval_count: 1 },
    ]);
    expect(record).toMatchObject({
      api: 'ollama.chat',
      text: 'Hi',
      complete: true,
      latencyMs: 5,
      usage: { input: 3, output: 1 },
    });
    expect(codes(record)).toEqual([]);
  });

  it('keeps the text before an error in mid-stream', async () => {
    const source = lines(load('ollama_stream_error'));
    expect(await parseStream(source)).toMatchObject({
      api: 'ollama.generate',
      text: 'Because of',
      complete: false,
      finish: 'error',
      error: { message: 'an error was encountered while running the model' },
    });
  });

  it('reports an error body as an error of the provider that the caller named', () => {
    const record = parse({ error: "model 'x' not found" }, { provider: 'ollama', status: 404 });
    expect(record).toMatchObject({
      provider: 'ollama',
      error: { message: "model 'x' not found", status: 404 },
      warnings: [],
    });
  });

  it('joins two streams, with a warning', () => {
    const events = load('ollama_generate_stream');
    const record = parse(lines([...events, ...events]));
    expect(record).toMatchObject({ text: 'Because of light.Because of light.', complete: true });
    expect(codes(record)).toEqual(['stream_duplicate_start', 'multiple_responses']);
  });

  it('gives an image that a model made as media', () => {
    const image = { ...head, response: '', image: 'iVBORw0=', done: true, done_reason: 'stop' };
    const media = [{ type: 'media', mediaType: 'image', data: 'iVBORw0=' }];
    expect(parse(image).content).toMatchObject(media);
    const progress = { ...head, completed: 1, total: 2, done: false };
    expect(parse([progress, image]).content).toMatchObject(media);
  });

  it('is read as chat or legacy completions where Ollama answers like OpenAI', () => {
    const record = parse({ choices: [{ message: { content: 'Hi' } }] }, { provider: 'ollama' });
    expect(record).toMatchObject({ api: 'openai.chat', provider: 'ollama' });
    expect(codes(record)).not.toContain('provider_mismatch');
  });
});
