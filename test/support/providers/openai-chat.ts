import type { Content, Part } from '@google/genai';
import {
  type Answer,
  type Asked,
  args,
  type Body,
  checkAnswers,
  type Dialect,
  must,
  object,
  objects,
  pieces,
  response,
  sse,
  string,
  toolNames,
} from './dialect.ts';

function read(body: Body): Asked {
  must(body.stream === true, 'stream must be true');
  must(object(body.stream_options, 'stream_options').include_usage === true, 'usage must be asked for');
  const contents: Content[] = [];
  let system = '';
  /** The calls that the next messages must answer, by id. */
  let open = new Map<string, string>();
  let answers: Part[] = [];
  const flush = () => {
    if (answers.length > 0) contents.push({ role: 'user', parts: answers });
    answers = [];
  };
  for (const [index, message] of objects(body.messages, 'messages').entries()) {
    const what = `messages[${index}]`;
    if (message.role !== 'tool') {
      must(
        open.size === 0,
        `an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'`,
      );
      flush();
    }
    switch (message.role) {
      case 'system':
      case 'developer':
        must(index === 0, 'system messages come first');
        system = string(message.content, what);
        break;
      case 'user':
        contents.push({ role: 'user', parts: userParts(message.content, what) });
        break;
      case 'assistant': {
        const calls =
          message.tool_calls === undefined ? [] : objects(message.tool_calls, `${what}.tool_calls`);
        must(calls.length > 0 || message.content, `${what} says nothing`);
        open = new Map();
        const parts: Part[] = message.content ? [{ text: string(message.content, what) }] : [];
        for (const call of calls) {
          must(call.type === 'function', `${what} calls something else than a function`);
          const { name, arguments: text } = object(call.function, `${what}.function`);
          const id = string(call.id, `${what} call id`);
          must(!open.has(id), `${what} repeats the id ${id}`);
          open.set(id, string(name, `${what} name`));
          parts.push({ functionCall: { id, name: String(name), args: args(text, `${what} arguments`) } });
        }
        contents.push({ role: 'model', parts });
        break;
      }
      case 'tool': {
        const id = string(message.tool_call_id, `${what}.tool_call_id`);
        const name = open.get(id);
        must(
          name !== undefined,
          `messages with role 'tool' must be a response to a preceding message with 'tool_calls'`,
        );
        open.delete(id);
        answers.push({ functionResponse: { id, name, response: response(string(message.content, what)) } });
        break;
      }
      default:
        must(false, `${what} has no role`);
    }
  }
  must(open.size === 0, 'calls at the end are not answered');
  flush();
  checkAnswers(contents);
  const tools = body.tools === undefined ? [] : objects(body.tools, 'tools');
  const format = body.response_format as { json_schema?: { schema?: unknown } } | undefined;
  return {
    contents,
    system,
    tools: toolNames(
      tools.map((tool) => {
        const { name, parameters } = object(tool.function, 'tool.function');
        return { name, schema: parameters };
      }),
    ),
    ...(format ? { schema: format.json_schema?.schema ?? true } : {}),
  };
}

function userParts(content: unknown, what: string): Part[] {
  if (typeof content === 'string') return [{ text: content }];
  return objects(content, `${what}.content`).map((part) => {
    if (part.type === 'text') return { text: string(part.text, what) };
    must(part.type === 'image_url', `${what} has a part of another kind`);
    const url = string(object(part.image_url, what).url, what);
    const [, mimeType = '', data = ''] = /^data:([^;]+);base64,(.*)$/.exec(url) ?? [];
    must(data, `${what} has no picture`);
    return { inlineData: { mimeType, data } };
  });
}

function write({ thought, text = '', calls, finish }: Answer, isCompatible: boolean): string[] {
  const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_794_000_000, model: 'fake' };
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...head,
    choices: [{ index: 0, delta, finish_reason }],
  });
  const reasons = isCompatible
    ? pieces(thought ?? '').map((piece) => chunk({ reasoning_content: piece }))
    : [];
  const made = calls.flatMap(({ id, name, args: given, raw = JSON.stringify(given) }, index) => [
    chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
    ...pieces(raw).map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
  ]);
  const usage = {
    prompt_tokens: 20,
    completion_tokens: 5,
    total_tokens: 25,
    prompt_tokens_details: { cached_tokens: 4 },
  };
  const reason = finish === 'length' ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop';
  return [
    ...sse([
      chunk({ role: 'assistant', content: calls.length > 0 ? null : '' }),
      ...reasons,
      ...pieces(text).map((content) => chunk({ content })),
      ...made,
      chunk({}, reason),
      { ...head, choices: [], usage },
    ]),
    'data: [DONE]\n\n',
  ];
}

const error = (status: number, message: string, type: string, code: string | null, headers = {}) => ({
  status,
  body: { error: { message, type, param: null, code } },
  headers,
});

/** What all that speak OpenAI's formats say when they fail. */
export const openaiTroubles: Pick<Dialect, 'trouble' | 'errorPiece'> = {
  trouble(kind) {
    switch (kind) {
      case 'key':
        return error(
          401,
          'Incorrect API key provided: KEY. You can find your API key at …',
          'invalid_request_error',
          'invalid_api_key',
        );
      case 'model':
        return error(
          404,
          'The model `fake` does not exist or you do not have access to it.',
          'invalid_request_error',
          'model_not_found',
        );
      case 'rate':
        return error(429, 'Rate limit reached for KEY', 'requests', 'rate_limit_exceeded', {
          'retry-after': '0',
        });
      case 'quota':
        return error(429, 'You exceeded your current quota, KEY', 'insufficient_quota', 'insufficient_quota');
      case 'overloaded':
        return error(503, 'The server is overloaded', 'server_error', null, { 'retry-after': '0' });
    }
  },
  errorPiece: () =>
    `data: ${JSON.stringify({ error: { message: 'The server had an error', type: 'server_error', param: null, code: null } })}\n\n`,
};

const bearer: Dialect['keyIn'] = ({ authorization }) => String(authorization ?? '').replace(/^Bearer /, '');

/** OpenAI's older API. */
export const openaiChat: Dialect = {
  name: 'openai chat',
  contentType: 'text/event-stream',
  path: /^\/v1\/chat\/completions$/,
  environment: (url, key) => ({
    DUOLOGUE_MODEL: 'openai/gpt-fake',
    DUOLOGUE_OPENAI_API: 'chat',
    OPENAI_API_KEY: key,
    OPENAI_BASE_URL: `${url}/v1`,
  }),
  keyIn: bearer,
  callId: (n) => `call_${n}abcDEF`,
  read,
  write: (answer) => write(answer, false),
  ...openaiTroubles,
};

/** A server that speaks the same: Ollama, vLLM, LM Studio. It streams its thoughts. */
export const compatible: Dialect = {
  ...openaiChat,
  name: 'compatible',
  environment: (url, key) => ({
    DUOLOGUE_MODEL: 'compatible/org/llama-fake',
    DUOLOGUE_COMPATIBLE_URL: `${url}/v1`,
    DUOLOGUE_COMPATIBLE_KEY: key,
  }),
  write: (answer) => write(answer, true),
};
