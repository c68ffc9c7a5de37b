import type { Finish, Output, ParsedResponse, Part } from './index.ts';

/** The value of an attribute of a span. */
type AttributeValue = string | number | string[];

/** Which attributes {@link otelAttributes} returns. */
export interface OtelOptions {
  /**
   * `package` (default): the attribute names of the published npm package. `next`: the names of the conventions' repository, where
   * tokens written to a cache have another name. The conventions are still in development.
   */
  names?: 'package' | 'next';
  /** Whether to add `gen_ai.output.messages`: the content of the response, as JSON text. Default false. */
  messages?: boolean;
}

const PROVIDERS: Readonly<Record<string, string>> = {
  openai: 'openai',
  azure: 'azure.ai.openai',
  anthropic: 'anthropic',
  bedrock: 'aws.bedrock',
  gemini: 'gcp.gemini',
  google: 'gcp.gemini',
  vertex: 'gcp.vertex_ai',
  'google-vertex': 'gcp.vertex_ai',
  'amazon-bedrock': 'aws.bedrock',
  groq: 'groq',
  mistral: 'mistral_ai',
  xai: 'x_ai',
  deepseek: 'deepseek',
  moonshot: 'moonshot_ai',
  cohere: 'cohere',
  perplexity: 'perplexity',
};

const FINISH: Readonly<Record<Finish, string>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool_call',
  content_filter: 'content_filter',
  refusal: 'content_filter',
  pause: 'stop',
  error: 'error',
  incomplete: 'error',
  other: 'stop',
};

function finishOf(output: Output): string {
  return output.finish === null ? 'error' : FINISH[output.finish];
}

function partOf(part: Part): Record<string, unknown> | null {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return { type: 'text', content: part.text };
    case 'reasoning':
      return part.text === '' ? null : { type: 'reasoning', content: part.text };
    case 'tool_call':
      if (part.executor === 'client') {
        return { type: 'tool_call', id: part.id, name: part.name, arguments: part.input };
      }
      return {
        type: 'server_tool_call',
        id: part.id,
        name: part.name,
        server_tool_call: { type: part.name, arguments: part.input },
      };
    case 'tool_result':
      return {
        type: 'server_tool_call_response',
        id: part.toolUseId,
        server_tool_call_response: { type: 'result', response: part.output },
      };
    case 'media':
      return mediaOf(part.mediaType, part.data);
    case 'compaction':
    case 'other':
      return null;
  }
}

/** Converts media. A text with a URL scheme becomes a URI; base64 text and `data:` URLs become blobs. Data that is no text gives null. */
function mediaOf(mediaType: string | null, data: unknown): Record<string, unknown> | null {
  if (typeof data !== 'string') return null;
  const [, inlineType, inline] = /^data:([^;,]*)[^,]*,(.*)$/s.exec(data) ?? [];
  const type = inlineType ?? mediaType;
  const main = type?.split('/')[0] ?? 'image';
  const modality = main === 'application' || main === 'text' ? 'document' : main.replace(/_.*/, '');
  const about = { modality, mime_type: type?.includes('/') ? type : null };
  return inline === undefined && /^[a-z]+:\/\//.test(data)
    ? { type: 'uri', ...about, uri: data }
    : { type: 'blob', ...about, content: inline ?? data };
}

/** Converts the content of a record to the messages of `gen_ai.output.messages`: one message for each choice. */
export function otelMessages(record: ParsedResponse): Record<string, unknown>[] {
  return (record.choices ?? [record]).map((output) => ({
    role: 'assistant',
    parts: output.content.map(partOf).filter((part) => part !== null),
    finish_reason: finishOf(output),
  }));
}

/**
 * Converts a record to the attributes of a span, with the names of the OpenTelemetry conventions for generative AI. The result has
 * no attribute for a fact that the record lacks.
 *
 * @example
 * span.setAttributes(otelAttributes(parse(body)));
 */
export function otelAttributes(
  record: ParsedResponse,
  options: OtelOptions = {},
): Record<string, string | number | string[]> {
  const { usage } = record;
  const written = options.names === 'next' ? 'cache_write' : 'cache_creation';
  const attributes: Record<string, AttributeValue | null | undefined> = {
    'gen_ai.provider.name': PROVIDERS[record.provider.toLowerCase()] ?? record.provider,
    'gen_ai.response.id': record.id,
    'gen_ai.response.model': record.model,
    'gen_ai.response.finish_reasons': (record.choices ?? [record]).map(finishOf),
    'gen_ai.usage.input_tokens': usage?.input,
    'gen_ai.usage.output_tokens': usage?.output,
    'gen_ai.usage.cache_read.input_tokens': usage?.cacheRead,
    [`gen_ai.usage.${written}.input_tokens`]: usage?.cacheWrite,
    'gen_ai.usage.reasoning.output_tokens': usage?.reasoning,
    'error.type': record.error === null ? null : String(record.error.type ?? record.error.code ?? '_OTHER'),
  };
  for (const [name, tokens] of Object.entries(usage?.modality?.input ?? {})) {
    if (/^(text|image|audio|video)$/.test(name)) attributes[`gen_ai.usage.${name}.input_tokens`] = tokens;
  }
  for (const [name, tokens] of Object.entries(usage?.modality?.output ?? {})) {
    if (/^(text|audio)$/.test(name)) attributes[`gen_ai.usage.${name}.output_tokens`] = tokens;
  }
  if (options.messages === true) attributes['gen_ai.output.messages'] = JSON.stringify(otelMessages(record));
  const known = Object.entries(attributes).filter(
    (entry): entry is [string, AttributeValue] => entry[1] != null,
  );
  return Object.fromEntries(known);
}
