import type { Content, Part } from '@google/genai';
import {
  type Answer,
  type Asked,
  args,
  type Body,
  checkAnswers,
  type Dialect,
  type Memory,
  must,
  objects,
  pieces,
  response,
  sse,
  string,
  toolNames,
} from './dialect.ts';
import { openaiChat, openaiTroubles } from './openai-chat.ts';

/** Adds a part to the last content of its role, as the API joins the items of one step. */
function add(contents: Content[], role: string, part: Part): void {
  const last = contents.at(-1);
  const isAnswer = (one: Part | undefined) => one?.functionResponse !== undefined;
  if (last?.role === role && isAnswer(last.parts?.[0]) === isAnswer(part)) last.parts?.push(part);
  else contents.push({ role, parts: [part] });
}

function read(body: Body, memory: Memory): Asked {
  must(body.stream === true, 'stream must be true');
  const contents: Content[] = [];
  const names = new Map<string, string>();
  let system = typeof body.instructions === 'string' ? body.instructions : '';
  const take = (item: Body, what: string): void => {
    if (item.type === 'item_reference') {
      const id = string(item.id, `${what}.id`);
      const known = memory.items.get(id);
      must(known, `Item with id '${id}' not found.`);
      return take(known as Body, what);
    }
    if (item.type === 'reasoning') {
      must(memory.items.has(string(item.id, `${what}.id`)), `${what} is no reasoning of ours`);
      return;
    }
    if (item.type === 'function_call') {
      const id = string(item.call_id, `${what}.call_id`);
      const name = string(item.name, `${what}.name`);
      must(!names.has(id), `${what} repeats the call ${id}`);
      names.set(id, name);
      return add(contents, 'model', {
        functionCall: { id, name, args: args(item.arguments, `${what}.arguments`) },
      });
    }
    if (item.type === 'function_call_output') {
      const id = string(item.call_id, `${what}.call_id`);
      const name = names.get(id);
      must(name !== undefined, `No tool call found for function call output with call_id ${id}.`);
      const given = response(string(item.output, `${what}.output`));
      return add(contents, 'user', { functionResponse: { id, name, response: given } });
    }
    must(item.type === undefined || item.type === 'message', `${what} is of another kind: ${item.type}`);
    if (item.role === 'system' || item.role === 'developer') {
      system += string(item.content, what);
    } else if (item.role === 'assistant') {
      for (const part of objects(item.content, `${what}.content`)) {
        must(part.type === 'output_text', `${what} has another part than text`);
        add(contents, 'model', { text: string(part.text, what) });
      }
    } else {
      must(item.role === 'user', `${what} has no role`);
      const parts =
        typeof item.content === 'string'
          ? [{ type: 'input_text', text: item.content }]
          : objects(item.content, what);
      contents.push({ role: 'user', parts: parts.map((part) => userPart(part, what)) });
    }
  };
  for (const [index, item] of objects(body.input, 'input').entries()) take(item, `input[${index}]`);
  checkAnswers(contents);
  const tools = body.tools === undefined ? [] : objects(body.tools, 'tools');
  const format = (body.text as { format?: { schema?: unknown } } | undefined)?.format;
  return {
    contents,
    system,
    tools: toolNames(tools.map(({ name, parameters }) => ({ name, schema: parameters }))),
    ...(format?.schema ? { schema: format.schema } : {}),
  };
}

function userPart(part: Body, what: string): Part {
  if (part.type === 'input_text') return { text: string(part.text, what) };
  must(part.type === 'input_image', `${what} has a part of another kind`);
  const [, mimeType = '', data = ''] = /^data:([^;]+);base64,(.*)$/.exec(string(part.image_url, what)) ?? [];
  must(data, `${what} has no picture`);
  return { inlineData: { mimeType, data } };
}

function write({ thought, text, calls, finish }: Answer, memory: Memory): string[] {
  const events: object[] = [];
  let sequence = 0;
  const say = (type: string, rest: object) => events.push({ type, sequence_number: sequence++, ...rest });
  const head = {
    id: `resp_${memory.count}`,
    object: 'response',
    created_at: 1_794_000_000,
    model: 'gpt-fake',
  };
  const output: Body[] = [];
  const begin = (item: Body): { item_id: unknown; output_index: number } => {
    const output_index = output.length;
    output.push(item);
    memory.items.set(String(item.id), item);
    return { item_id: item.id, output_index };
  };
  say('response.created', { response: { ...head, status: 'in_progress', output: [] } });
  if (thought) {
    const item = {
      type: 'reasoning',
      id: `rs_${memory.count}`,
      summary: [{ type: 'summary_text', text: thought }],
      encrypted_content: null,
    };
    const at = begin(item);
    say('response.output_item.added', { output_index: at.output_index, item: { ...item, summary: [] } });
    say('response.reasoning_summary_part.added', {
      ...at,
      summary_index: 0,
      part: { type: 'summary_text', text: '' },
    });
    for (const delta of pieces(thought))
      say('response.reasoning_summary_text.delta', { ...at, summary_index: 0, delta });
    say('response.reasoning_summary_part.done', {
      ...at,
      summary_index: 0,
      part: { type: 'summary_text', text: thought },
    });
    say('response.output_item.done', { output_index: at.output_index, item });
  }
  if (text) {
    const content = [{ type: 'output_text', text, annotations: [] }];
    const item = {
      type: 'message',
      id: `msg_${memory.count}`,
      role: 'assistant',
      status: 'completed',
      content,
    };
    const at = begin(item);
    say('response.output_item.added', { output_index: at.output_index, item: { ...item, content: [] } });
    say('response.content_part.added', {
      ...at,
      content_index: 0,
      part: { type: 'output_text', text: '', annotations: [] },
    });
    for (const delta of pieces(text))
      say('response.output_text.delta', { ...at, content_index: 0, delta, logprobs: [] });
    say('response.output_item.done', { output_index: at.output_index, item });
  }
  for (const [index, { id, name, args: given, raw = JSON.stringify(given) }] of calls.entries()) {
    const item = {
      type: 'function_call',
      id: `fc_${memory.count}_${index}`,
      call_id: id,
      name,
      arguments: raw,
      status: 'completed',
    };
    const at = begin(item);
    say('response.output_item.added', { output_index: at.output_index, item: { ...item, arguments: '' } });
    for (const delta of pieces(raw)) say('response.function_call_arguments.delta', { ...at, delta });
    say('response.function_call_arguments.done', { ...at, arguments: raw });
    say('response.output_item.done', { output_index: at.output_index, item });
  }
  const usage = {
    input_tokens: 20,
    input_tokens_details: { cached_tokens: 4 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 2 },
    total_tokens: 25,
  };
  const isCut = finish === 'length';
  say(isCut ? 'response.incomplete' : 'response.completed', {
    response: {
      ...head,
      status: isCut ? 'incomplete' : 'completed',
      incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
      output,
      usage,
    },
  });
  return sse(events, true);
}

/** A server that speaks the same and remembers nothing: vLLM, Ollama, LM Studio. */
export function compatibleResponses(): Dialect {
  return {
    ...openaiResponses,
    name: 'compatible responses',
    environment: (url, key) => ({
      DUOLOGUE_MODEL: 'compatible/org/llama-fake',
      DUOLOGUE_OPENAI_API: 'responses',
      DUOLOGUE_COMPATIBLE_URL: `${url}/v1`,
      DUOLOGUE_COMPATIBLE_KEY: key,
    }),
    read(body, memory) {
      must(body.store === false, 'nothing is stored here');
      return read(body, { ...memory, items: new Map() });
    },
  };
}

/** OpenAI's newer API, which remembers what it said. */
export const openaiResponses: Dialect = {
  ...openaiChat,
  ...openaiTroubles,
  name: 'openai responses',
  path: /^\/v1\/responses$/,
  environment: (url, key) => ({
    DUOLOGUE_MODEL: 'openai/gpt-fake',
    OPENAI_API_KEY: key,
    OPENAI_BASE_URL: `${url}/v1`,
  }),
  read,
  write,
  errorPiece: () =>
    sse(
      [
        {
          type: 'error',
          sequence_number: 9,
          error: {
            type: 'server_error',
            code: 'server_error',
            message: 'The server had an error',
            param: null,
          },
        },
      ],
      true,
    ).join(''),
};
