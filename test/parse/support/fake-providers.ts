import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { aws } from './aws-stream.ts';

/** One request that the fake providers received. */
export interface Seen {
  path: string;
  authorization: string;
  body: Record<string, unknown>;
}

interface Answer {
  type: string;
  body: string | Uint8Array;
}

const json = (value: unknown): Answer => ({ type: 'application/json', body: JSON.stringify(value) });
const sse = (events: unknown[], end = '') => ({
  type: 'text/event-stream',
  body: `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}${end}`,
});
const named = (events: { type: string }[]) => ({
  type: 'text/event-stream',
  body: events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''),
});

function openai(body: Record<string, unknown>, key: string): Answer {
  const head = { id: 'chatcmpl-1', created: 1763100000, model: body.model };
  const usage = {
    prompt_tokens: 11,
    completion_tokens: 5,
    total_tokens: 16,
    completion_tokens_details: { reasoning_tokens: 2 },
  };
  if (body.stream) {
    const chunk = (delta: object, finish_reason: string | null) => ({
      ...head,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason }],
    });
    const last = { ...head, object: 'chat.completion.chunk', choices: [], usage };
    return sse(
      [chunk({ role: 'assistant', content: 'one ' }, null), chunk({ content: 'two' }, 'stop'), last],
      'data: [DONE]\n\n',
    );
  }
  const names =
    (body.tools as { function: { name: string } }[] | undefined)?.map((tool) => tool.function.name) ?? [];
  const tool_calls = names.map((name, i) => ({
    id: `call_${i}`,
    type: 'function',
    function: { name, arguments: '{"city":"Oslo"}' },
  }));
  const message =
    names.length > 0
      ? { role: 'assistant', content: null, tool_calls }
      : { role: 'assistant', content: `You said so (${key}).` };
  return json({
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: names.length > 0 ? 'tool_calls' : 'stop' }],
    usage,
  });
}

function anthropic(body: Record<string, unknown>): Answer {
  const names = (body.tools as { name: string }[] | undefined)?.map((tool) => tool.name) ?? [];
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: body.model,
    content:
      names.length > 0
        ? names.map((name, i) => ({ type: 'tool_use', id: `toolu_${i}`, name, input: { city: 'Oslo' } }))
        : [{ type: 'text', text: 'Certainly.' }],
    stop_reason: names.length > 0 ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 12, output_tokens: 6 },
  };
  if (!body.stream) return json(message);
  return named([
    { type: 'message_start', message: { ...message, content: [], stop_reason: null } } as { type: string },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as { type: string },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'one two' } } as {
      type: string;
    },
    { type: 'content_block_stop', index: 0 } as { type: string },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 6 },
    } as { type: string },
    { type: 'message_stop' },
  ]);
}

function gemini(path: string, body: Record<string, unknown>): Answer {
  const tools = body.tools as { functionDeclarations: { name: string }[] }[] | undefined;
  const names = tools?.flatMap((tool) => tool.functionDeclarations.map(({ name }) => name)) ?? [];
  const parts =
    names.length > 0
      ? names.map((name) => ({ functionCall: { name, args: { city: 'Oslo' } } }))
      : [{ text: 'Gladly.' }];
  const whole = {
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 3, totalTokenCount: 12 },
    modelVersion: 'gemini-2.5-flash',
    responseId: 'r1',
  };
  return path.includes('stream') ? sse([whole]) : json(whole);
}

function bedrock(path: string, body: Record<string, unknown>): Answer {
  const config = body.toolConfig as { tools: { toolSpec: { name: string } }[] } | undefined;
  const names = config?.tools.map((tool) => tool.toolSpec.name) ?? [];
  const usage = { inputTokens: 10, outputTokens: 4, totalTokens: 14 };
  if (path.includes('stream')) {
    return {
      type: 'application/vnd.amazon.eventstream',
      body: aws([
        { messageStart: { role: 'assistant' } },
        { contentBlockDelta: { contentBlockIndex: 0, delta: { text: 'one two' } } },
        { contentBlockStop: { contentBlockIndex: 0 } },
        { messageStop: { stopReason: 'end_turn' } },
        { metadata: { usage, metrics: { latencyMs: 5 } } },
      ]),
    };
  }
  const content =
    names.length > 0
      ? names.map((name, i) => ({ toolUse: { toolUseId: `t${i}`, name, input: { city: 'Oslo' } } }))
      : [{ text: 'Of course.' }];
  return json({
    output: { message: { role: 'assistant', content } },
    stopReason: names.length > 0 ? 'tool_use' : 'end_turn',
    usage,
    metrics: { latencyMs: 5 },
  });
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString() || '{}');
}

/** A server on a free port that answers like each provider's API, and remembers what it was asked. */
export async function fakeProviders(): Promise<{ url: string; seen: Seen[]; close(): void }> {
  const seen: Seen[] = [];
  const server: Server = createServer(async (request, response) => {
    const path = request.url ?? '';
    const body = await bodyOf(request);
    const { authorization, 'x-api-key': apiKey, 'x-goog-api-key': googleKey } = request.headers;
    const key = String(authorization ?? apiKey ?? googleKey ?? '');
    seen.push({ path, authorization: key, body });
    const answer = path.includes('/chat/completions')
      ? openai(body, key)
      : path.includes('/messages')
        ? anthropic(body)
        : path.includes('/model/')
          ? bedrock(path, body)
          : gemini(path, body);
    response.writeHead(200, { 'content-type': answer.type }).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    close: () => server.close(),
  };
}
