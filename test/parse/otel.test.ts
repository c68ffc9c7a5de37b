import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'duologue/parse';
import { otelAttributes, otelMessages } from 'duologue/parse/otel';
import { describe, expect, it } from 'vitest';

const load = (name: string) => {
  const fixture = JSON.parse(
    readFileSync(new URL(`../../fixtures/responses/${name}.json`, import.meta.url), 'utf8'),
  );
  return parse(fixture.response, { provider: fixture.provider });
};

describe('OpenTelemetry attributes', () => {
  it('count the cache as input, and name what was written to it by version', () => {
    const attributes = {
      'gen_ai.provider.name': 'anthropic',
      'gen_ai.response.id': 'msg_01',
      'gen_ai.response.model': 'claude-sonnet-4-5-20250929',
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': 2459,
      'gen_ai.usage.output_tokens': 7,
      'gen_ai.usage.cache_read.input_tokens': 2048,
    };
    expect(otelAttributes(load('anthropic_cache'))).toEqual({
      ...attributes,
      'gen_ai.usage.cache_creation.input_tokens': 300,
    });
    expect(otelAttributes(load('anthropic_cache'), { names: 'next' })).toEqual({
      ...attributes,
      'gen_ai.usage.cache_write.input_tokens': 300,
    });
  });

  it('leave out what is not known', () => {
    expect(otelAttributes(load('bedrock_invoke_ai21'))).toEqual({
      'gen_ai.provider.name': 'aws.bedrock',
      'gen_ai.response.finish_reasons': ['stop'],
    });
  });

  it('say error for a cut stream and name the error of an error body', () => {
    expect(otelAttributes(load('anthropic_stream_cut'))['gen_ai.response.finish_reasons']).toEqual(['error']);
    expect(otelAttributes(load('anthropic_error'))).toMatchObject({
      'error.type': 'overloaded_error',
      'gen_ai.response.finish_reasons': ['error'],
    });
  });

  it('have one finish reason for each choice', () => {
    expect(otelAttributes(load('openai_multiple_choices'))['gen_ai.response.finish_reasons']).toEqual([
      'stop',
      'length',
    ]);
  });

  it('carry the content as messages when asked to', () => {
    const record = load('anthropic_stream');
    expect(otelMessages(record)).toEqual([
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', content: 'Rain, so umbrella.' },
          { type: 'text', content: 'Take one.' },
          { type: 'tool_call', id: 'toolu_02', name: 'get_umbrella', arguments: { colour: 'red' } },
        ],
        finish_reason: 'tool_call',
      },
    ]);
    const attributes = otelAttributes(record, { messages: true });
    expect(attributes['gen_ai.output.messages']).toBe(JSON.stringify(otelMessages(record)));
  });

  it('tell tools that the provider ran from the client’s own, and media by bytes or address', () => {
    expect(otelMessages(load('anthropic_server_tools'))[0]).toMatchObject({
      parts: [
        { type: 'server_tool_call', id: 'srvtoolu_1', name: 'web_search' },
        { type: 'server_tool_call_response', id: 'srvtoolu_1' },
        { type: 'text', content: 'All is well.' },
      ],
    });
    expect(otelMessages(load('bedrock_image'))[0]).toMatchObject({
      parts: [{ type: 'blob', modality: 'image', mime_type: 'image/png', content: 'iVBORw0KGgo=' }],
    });
  });

  it.each([
    ['openai', 'openai'],
    ['azure', 'azure.ai.openai'],
    ['anthropic', 'anthropic'],
    ['bedrock', 'aws.bedrock'],
    ['gemini', 'gcp.gemini'],
    ['vertex', 'gcp.vertex_ai'],
    ['groq', 'groq'],
    ['mistral', 'mistral_ai'],
    ['xai', 'x_ai'],
    ['deepseek', 'deepseek'],
    ['cohere', 'cohere'],
    ['perplexity', 'perplexity'],
    ['moonshot', 'moonshot_ai'],
  ])('name the provider %s as the registry does: %s', (provider, name) => {
    const record = parse({ choices: [{ message: { content: 'Hi' } }] }, { provider });
    expect(otelAttributes(record)['gen_ai.provider.name']).toBe(name);
  });

  it('have the types of the registry: numbers for counts, a list of texts for finish reasons, text for the rest', () => {
    const record = parse({
      candidates: [{ content: { parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }],
      responseId: 'r1',
      modelVersion: 'gemini-2.5-flash',
      usageMetadata: {
        promptTokenCount: 40,
        cachedContentTokenCount: 8,
        candidatesTokenCount: 9,
        thoughtsTokenCount: 5,
        totalTokenCount: 54,
        promptTokensDetails: [
          { modality: 'TEXT', tokenCount: 10 },
          { modality: 'IMAGE', tokenCount: 9 },
          { modality: 'VIDEO', tokenCount: 11 },
          { modality: 'AUDIO', tokenCount: 7 },
          { modality: 'DOCUMENT', tokenCount: 3 },
        ],
        candidatesTokensDetails: [
          { modality: 'TEXT', tokenCount: 4 },
          { modality: 'AUDIO', tokenCount: 5 },
        ],
      },
    });
    expect(otelAttributes(record)).toEqual({
      'gen_ai.provider.name': 'gcp.gemini',
      'gen_ai.response.id': 'r1',
      'gen_ai.response.model': 'gemini-2.5-flash',
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': 40,
      'gen_ai.usage.output_tokens': 14,
      'gen_ai.usage.cache_read.input_tokens': 8,
      'gen_ai.usage.reasoning.output_tokens': 5,
      'gen_ai.usage.text.input_tokens': 10,
      'gen_ai.usage.image.input_tokens': 9,
      'gen_ai.usage.video.input_tokens': 11,
      'gen_ai.usage.audio.input_tokens': 7,
      'gen_ai.usage.text.output_tokens': 4,
      'gen_ai.usage.audio.output_tokens': 5,
    });
  });

  it('are parts of the kinds that the schema of output messages has, with all that it requires', () => {
    const required: Record<string, readonly string[]> = {
      text: ['content'],
      reasoning: ['content'],
      tool_call: ['name'],
      server_tool_call: ['name', 'server_tool_call'],
      server_tool_call_response: ['server_tool_call_response'],
      blob: ['modality', 'content'],
      uri: ['modality', 'uri'],
    };
    const names = readdirSync(new URL('../../fixtures/responses/', import.meta.url));
    for (const name of names.filter((file) => file.endsWith('.json'))) {
      for (const message of otelMessages(load(name.slice(0, -5)))) {
        expect(Object.keys(message)).toEqual(['role', 'parts', 'finish_reason']);
        expect(message.finish_reason).toMatch(/^(stop|length|content_filter|tool_call|error)$/);
        for (const part of message.parts as Record<string, unknown>[]) {
          const fields = required[String(part.type)];
          expect(fields, `${name}: ${part.type}`).toBeDefined();
          for (const field of fields ?? []) expect(part[field], `${name}: ${field}`).toBeDefined();
        }
      }
    }
  });

  it('an address that holds its own bytes is a blob', () => {
    const url = 'data:image/png;base64,AAAA';
    const image = (address: string) =>
      otelMessages(
        parse({
          choices: [{ message: { images: [{ type: 'image_url', image_url: { url: address } }] } }],
        }),
      )[0]?.parts;
    expect(image(url)).toEqual([
      { type: 'blob', modality: 'image', mime_type: 'image/png', content: 'AAAA' },
    ]);
    expect(image('https://a.example/x.png')).toEqual([
      { type: 'uri', modality: 'image', mime_type: null, uri: 'https://a.example/x.png' },
    ]);
  });
});
