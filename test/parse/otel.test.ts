import { readFileSync } from 'node:fs';
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
});
