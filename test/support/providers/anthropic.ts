import type { Content, Part } from '@google/genai';
import {
  type Answer,
  type Asked,
  type Body,
  checkAnswers,
  type Dialect,
  type Memory,
  must,
  object,
  objects,
  pieces,
  response,
  sse,
  string,
  toolNames,
} from './dialect.ts';

const ID = /^[a-zA-Z0-9_-]+$/;

function read(body: Body, memory: Memory): Asked {
  must(body.stream === true, 'stream must be true');
  must(Number.isInteger(body.max_tokens) && Number(body.max_tokens) > 0, 'max_tokens: Field required');
  const system = body.system === undefined ? [] : objects(body.system, 'system');
  const names = new Map<string, string>();
  const contents: Content[] = [];
  for (const [index, message] of objects(body.messages, 'messages').entries()) {
    const what = `messages.${index}`;
    const isModel = message.role === 'assistant';
    must(isModel || message.role === 'user', `${what}: role must be user or assistant`);
    must(index > 0 || !isModel, 'the first message must be of the user');
    const blocks = objects(message.content, `${what}.content`);
    must(blocks.length > 0, `${what}: content is empty`);
    must(contents.at(-1)?.role !== (isModel ? 'model' : 'user'), `${what}: roles must alternate`);
    const parts = blocks.flatMap((block, at) => partOf(block, { names, memory, what, isModel, blocks, at }));
    contents.push({ role: isModel ? 'model' : 'user', parts });
  }
  checkAnswers(contents);
  const tools = body.tools === undefined ? [] : objects(body.tools, 'tools');
  return {
    contents,
    system: system.map(({ text }) => string(text, 'system')).join('\n'),
    tools: toolNames(tools.map(({ name, input_schema }) => ({ name, schema: input_schema }))),
  };
}

interface Place {
  names: Map<string, string>;
  memory: Memory;
  what: string;
  isModel: boolean;
  blocks: Body[];
  at: number;
}

function partOf(block: Body, { names, memory, what, isModel, blocks, at }: Place): Part[] {
  switch (block.type) {
    case 'text': {
      const text = string(block.text, what);
      must(text.trim() !== '', `${what}: text content blocks must contain non-whitespace text`);
      return [{ text }];
    }
    case 'thinking': {
      must(isModel && at === 0, `${what}: thinking must come first`);
      const signature = string(block.signature, `${what}: signature`);
      must(
        memory.items.get(signature) === block.thinking,
        `${what}: Invalid \`signature\` in \`thinking\` block`,
      );
      return [];
    }
    case 'image': {
      const source = object(block.source, what);
      must(source.type === 'base64', `${what}: source`);
      return [{ inlineData: { mimeType: string(source.media_type, what), data: string(source.data, what) } }];
    }
    case 'tool_use': {
      must(isModel, `${what}: only the assistant calls`);
      const id = string(block.id, what);
      must(ID.test(id) && !names.has(id), `${what}: tool_use ids must be unique and match ${ID}`);
      const name = string(block.name, what);
      names.set(id, name);
      const thinks = memory.items.has(`thought before ${id}`);
      must(!thinks || blocks[0]?.type === 'thinking', `${what}: a call must keep the thinking before it`);
      return [{ functionCall: { id, name, args: object(block.input, `${what}.input`) } }];
    }
    case 'tool_result': {
      must(!isModel, `${what}: only the user answers`);
      must(
        blocks.slice(0, at).every(({ type }) => type === 'tool_result'),
        `${what}: tool_result blocks come first`,
      );
      const id = string(block.tool_use_id, what);
      const name = names.get(id);
      must(name !== undefined, `${what}: unexpected \`tool_use_id\` ${id}`);
      const text =
        typeof block.content === 'string'
          ? block.content
          : objects(block.content, what)
              .map((one) => string(one.text, what))
              .join('');
      return [
        { functionResponse: { id, name, response: block.is_error ? { error: text } : response(text) } },
      ];
    }
    default:
      must(false, `${what}: unknown block ${block.type}`);
  }
}

function write({ thought, text, calls, finish }: Answer, memory: Memory): string[] {
  const events: object[] = [
    {
      type: 'message_start',
      message: {
        id: `msg_${memory.count}`,
        type: 'message',
        role: 'assistant',
        model: 'claude-fake',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: {
          input_tokens: 14,
          cache_read_input_tokens: 4,
          cache_creation_input_tokens: 2,
          output_tokens: 1,
        },
      },
    },
    { type: 'ping' },
  ];
  let index = 0;
  const block = (content_block: object, deltas: object[]) => {
    events.push({ type: 'content_block_start', index, content_block });
    for (const delta of deltas) events.push({ type: 'content_block_delta', index, delta });
    events.push({ type: 'content_block_stop', index });
    index++;
  };
  if (thought) {
    const signature = `sig_${memory.count}`;
    memory.items.set(signature, thought);
    for (const { id } of calls) memory.items.set(`thought before ${id}`, signature);
    block({ type: 'thinking', thinking: '', signature: '' }, [
      ...pieces(thought).map((thinking) => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature },
    ]);
  }
  if (text)
    block(
      { type: 'text', text: '' },
      pieces(text).map((piece) => ({ type: 'text_delta', text: piece })),
    );
  for (const { id, name, args, raw = JSON.stringify(args) } of calls) {
    const deltas = pieces(raw).map((partial_json) => ({ type: 'input_json_delta', partial_json }));
    block({ type: 'tool_use', id, name, input: {} }, [
      { type: 'input_json_delta', partial_json: '' },
      ...deltas,
    ]);
  }
  const stop_reason = finish === 'length' ? 'max_tokens' : calls.length > 0 ? 'tool_use' : 'end_turn';
  events.push(
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  );
  return sse(events, true);
}

const error = (status: number, type: string, message: string, headers = {}) => ({
  status,
  body: { type: 'error', error: { type, message }, request_id: 'req_1' },
  headers,
});

/** Anthropic's Messages API. */
export const anthropic: Dialect = {
  name: 'anthropic',
  contentType: 'text/event-stream',
  path: /^\/v1\/messages$/,
  environment: (url, key) => ({
    DUOLOGUE_MODEL: 'anthropic/claude-fake',
    ANTHROPIC_API_KEY: key,
    ANTHROPIC_BASE_URL: `${url}/v1`,
  }),
  keyIn: (headers) => String(headers['x-api-key'] ?? ''),
  callId: (n) => `toolu_${n}abcDEF`,
  read,
  write,
  trouble(kind) {
    switch (kind) {
      case 'key':
        return error(401, 'authentication_error', 'invalid x-api-key: KEY');
      case 'model':
        return error(404, 'not_found_error', 'model: claude-fake');
      case 'rate':
        return error(429, 'rate_limit_error', 'This request would exceed your rate limit', {
          'retry-after': '0',
        });
      case 'quota':
        return error(
          400,
          'invalid_request_error',
          'Your credit balance is too low to access the Anthropic API.',
        );
      case 'overloaded':
        return error(529, 'overloaded_error', 'Overloaded', { 'retry-after': '0' });
    }
  },
  errorPiece: () =>
    sse([{ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }], true).join(''),
};
