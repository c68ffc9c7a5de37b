import type { Content, Part } from '@google/genai';
import { aws } from '../../parse/support/aws-stream.ts';
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
  string,
  toolNames,
} from './dialect.ts';

const ID = /^[a-zA-Z0-9_-]{1,64}$/;

function read(body: Body, memory: Memory): Asked {
  const names = new Map<string, string>();
  const contents: Content[] = [];
  for (const [index, message] of objects(body.messages, 'messages').entries()) {
    const what = `messages.${index}`;
    const isModel = message.role === 'assistant';
    must(isModel || message.role === 'user', `${what} has no role`);
    must(index > 0 || !isModel, 'A conversation must start with a user message.');
    must(contents.at(-1)?.role !== (isModel ? 'model' : 'user'), `${what}: roles must alternate`);
    const blocks = objects(message.content, `${what}.content`);
    must(blocks.length > 0, `${what}: The content field is empty.`);
    contents.push({
      role: isModel ? 'model' : 'user',
      parts: blocks.flatMap((block) => partOf(block, names, memory, what)),
    });
  }
  checkAnswers(contents);
  const config = body.toolConfig as { tools?: unknown } | undefined;
  const tools = config ? objects(config.tools, 'toolConfig.tools') : [];
  must(
    tools.length > 0 || names.size === 0,
    'The toolConfig field must be defined when using toolUse blocks.',
  );
  const system = body.system === undefined ? [] : objects(body.system, 'system');
  return {
    contents,
    system: system.map(({ text }) => string(text, 'system')).join('\n'),
    tools: toolNames(
      tools.map((tool) => {
        const { name, inputSchema } = object(tool.toolSpec, 'toolSpec');
        return { name, schema: object(inputSchema, 'inputSchema').json };
      }),
    ),
  };
}

function partOf(block: Body, names: Map<string, string>, memory: Memory, what: string): Part[] {
  const kinds = Object.keys(block);
  must(kinds.length === 1, `${what}: a block has one member, not ${kinds}`);
  if (block.text !== undefined) {
    must(
      string(block.text, what).trim() !== '',
      `${what}: The text field in the ContentBlock object is blank.`,
    );
    return [{ text: String(block.text) }];
  }
  if (block.reasoningContent !== undefined) {
    const { text, signature } = object(object(block.reasoningContent, what).reasoningText, what);
    must(memory.items.get(string(signature, what)) === text, `${what}: the signature is wrong`);
    return [];
  }
  if (block.image !== undefined) {
    const { format, source } = object(block.image, what);
    return [{ inlineData: { mimeType: `image/${format}`, data: string(object(source, what).bytes, what) } }];
  }
  if (block.toolUse !== undefined) {
    const { toolUseId, name, input } = object(block.toolUse, what);
    const id = string(toolUseId, what);
    must(ID.test(id) && !names.has(id), `${what}: toolUseId ${id}`);
    names.set(id, string(name, what));
    return [{ functionCall: { id, name: String(name), args: object(input, `${what}.input`) } }];
  }
  const { toolUseId, content, status } = object(block.toolResult, what);
  const id = string(toolUseId, what);
  const name = names.get(id);
  must(name !== undefined, `${what}: The number of toolResult blocks exceeds the number of toolUse blocks.`);
  const text = objects(content, what)
    .map((one) => (one.json ? JSON.stringify(one.json) : string(one.text, what)))
    .join('');
  return [
    { functionResponse: { id, name, response: status === 'error' ? { error: text } : response(text) } },
  ];
}

function write({ thought, text, calls, finish }: Answer, memory: Memory): Uint8Array[] {
  const events: Record<string, unknown>[] = [{ messageStart: { role: 'assistant', p: 'abc' } }];
  let contentBlockIndex = 0;
  const block = (deltas: object[], start?: object) => {
    if (start) events.push({ contentBlockStart: { contentBlockIndex, start } });
    for (const delta of deltas) events.push({ contentBlockDelta: { contentBlockIndex, delta } });
    events.push({ contentBlockStop: { contentBlockIndex } });
    contentBlockIndex++;
  };
  if (thought) {
    const signature = `sig_${memory.count}`;
    memory.items.set(signature, thought);
    block([
      ...pieces(thought).map((piece) => ({ reasoningContent: { text: piece } })),
      { reasoningContent: { signature } },
    ]);
  }
  if (text) block(pieces(text).map((piece) => ({ text: piece })));
  for (const { id, name, args, raw = JSON.stringify(args) } of calls) {
    block(
      pieces(raw).map((input) => ({ toolUse: { input } })),
      { toolUse: { toolUseId: id, name } },
    );
  }
  const stopReason = finish === 'length' ? 'max_tokens' : calls.length > 0 ? 'tool_use' : 'end_turn';
  const usage = {
    inputTokens: 14,
    outputTokens: 5,
    totalTokens: 25,
    cacheReadInputTokens: 4,
    cacheWriteInputTokens: 2,
  };
  events.push({ messageStop: { stopReason } }, { metadata: { usage, metrics: { latencyMs: 9 } } });
  return events.map((event) => aws([event]));
}

const error = (status: number, type: string, message: string, headers = {}) => ({
  status,
  body: { message },
  headers: { 'x-amzn-errortype': type, ...headers },
});

/** Bedrock's Converse API. */
export const bedrock: Dialect = {
  name: 'bedrock',
  contentType: 'application/vnd.amazon.eventstream',
  path: /^\/model\/[^/]+\/converse-stream$/,
  environment: (url, key) => ({
    DUOLOGUE_MODEL: 'bedrock/anthropic.claude-fake',
    AWS_REGION: 'us-east-1',
    AWS_BEARER_TOKEN_BEDROCK: key,
    AWS_ENDPOINT_URL_BEDROCK_RUNTIME: url,
  }),
  keyIn: ({ authorization }) => String(authorization ?? '').replace(/^Bearer /, ''),
  callId: (n) => `tooluse_${n}abcDEF`,
  read,
  write,
  trouble(kind) {
    switch (kind) {
      case 'key':
        return error(403, 'UnrecognizedClientException', 'The security token KEY is invalid.');
      case 'model':
        return error(
          404,
          'ResourceNotFoundException',
          'Could not resolve the foundation model from the model identifier: fake',
        );
      case 'rate':
        return error(429, 'ThrottlingException', 'Too many requests', { 'retry-after': '0' });
      case 'quota':
        return error(400, 'ServiceQuotaExceededException', 'Your billing quota is used up');
      case 'overloaded':
        return error(503, 'ServiceUnavailableException', 'Service is unavailable', { 'retry-after': '0' });
    }
  },
  errorPiece: () => aws([{ modelStreamErrorException: { message: 'The model had an error' } }]),
};
