import type { Content, Part } from '@google/genai';
import {
  type Answer,
  type Asked,
  type Body,
  type Dialect,
  type Memory,
  must,
  object,
  objects,
  pieces,
  sse,
  string,
  toolNames,
} from './dialect.ts';

const KINDS = ['text', 'functionCall', 'functionResponse', 'inlineData'];
const FIELDS = [...KINDS, 'thought', 'thoughtSignature'];

function read(body: Body, memory: Memory): Asked {
  const contents = objects(body.contents, 'contents').map((content, index): Content => {
    const what = `contents[${index}]`;
    must(
      content.role === 'user' || content.role === 'model',
      `${what}: Please use a valid role: user, model.`,
    );
    const parts = objects(content.parts, `${what}.parts`);
    must(parts.length > 0, `${what}: must include at least one parts field`);
    for (const part of parts) {
      const unknown = Object.keys(part).filter((key) => !FIELDS.includes(key));
      must(unknown.length === 0, `Invalid JSON payload received. Unknown name "${unknown}"`);
      must(
        KINDS.filter((kind) => kind in part).length === 1,
        `${what}: required oneof field 'data' must have one initialized field`,
      );
      const { thoughtSignature } = part;
      must(
        thoughtSignature === undefined ||
          thoughtSignature === 'skip_thought_signature_validator' ||
          memory.items.has(String(thoughtSignature)),
        `${what}: Thought signature is not valid`,
      );
    }
    return { role: String(content.role), parts: parts as Part[] };
  });
  checkTurns(contents, memory);
  const tools = body.tools === undefined ? [] : objects(body.tools, 'tools');
  const declared = tools.flatMap((tool) => objects(tool.functionDeclarations, 'functionDeclarations'));
  const { parts = [] } = (body.systemInstruction ?? {}) as Content;
  const config = (body.generationConfig ?? {}) as { responseSchema?: unknown; responseJsonSchema?: unknown };
  const schema = config.responseSchema ?? config.responseJsonSchema;
  return {
    contents: contents.map((content) => ({
      ...content,
      parts: (content.parts ?? []).filter(({ thought }) => !thought),
    })),
    system: parts.map(({ text }) => text ?? '').join('\n'),
    tools: toolNames(
      declared.map(({ name, parameters, parametersJsonSchema }) => {
        const given = object(parameters ?? parametersJsonSchema ?? { type: 'object' }, 'parameters');
        return { name, schema: { ...given, type: string(given.type, 'type').toLowerCase() } };
      }),
    ),
    ...(schema ? { schema } : {}),
  };
}

/** Calls stand behind the user or behind answers, and are answered right behind them, each once, in their order. */
function checkTurns(contents: Content[], memory: Memory): void {
  const callsOf = ({ parts = [] }: Content) => parts.flatMap(({ functionCall }) => functionCall ?? []);
  const answersOf = (content: Content | undefined) =>
    (content?.parts ?? []).flatMap(({ functionResponse }) => functionResponse ?? []);
  for (const [index, content] of contents.entries()) {
    const calls = callsOf(content);
    const before = contents[index - 1];
    if (answersOf(content).length > 0) {
      must(
        before && callsOf(before).length > 0,
        'function response turn comes immediately after a function call turn',
      );
    }
    if (calls.length === 0) continue;
    must(
      before?.role === 'user',
      'function call turn comes immediately after a user turn or after a function response turn',
    );
    const answers = answersOf(contents[index + 1]);
    must(
      JSON.stringify(answers.map(({ name }) => name)) === JSON.stringify(calls.map(({ name }) => name)),
      'the number of function response parts is equal to the number of function call parts of the function call turn',
    );
    const first = (content.parts ?? []).find(({ functionCall }) => functionCall);
    must(
      !memory.items.has('signs calls') || first?.thoughtSignature,
      `Function call ${first?.functionCall?.name} is missing a thought_signature`,
    );
  }
}

function write({ thought, text, calls, finish }: Answer, memory: Memory): string[] {
  const signature = `c2ln${memory.count}`;
  memory.items.set(signature, true);
  const chunk = (parts: Part[], rest: object = {}) => ({
    candidates: [{ content: { role: 'model', parts }, index: 0, ...rest }],
    usageMetadata: {
      promptTokenCount: 20,
      candidatesTokenCount: 3,
      thoughtsTokenCount: 2,
      totalTokenCount: 25,
    },
    modelVersion: 'gemini-fake',
    responseId: `r${memory.count}`,
  });
  const chunks = [
    ...pieces(thought ?? '').map((piece) => chunk([{ text: piece, thought: true }])),
    ...pieces(text ?? '').map((piece) => chunk([{ text: piece }])),
  ];
  if (calls.length > 0) {
    memory.items.set('signs calls', true);
    const parts = calls.map(
      ({ name, args, raw }, index): Part => ({
        functionCall: { name, ...(raw === undefined ? { args } : {}) },
        ...(index === 0 ? { thoughtSignature: signature } : {}),
      }),
    );
    chunks.push(chunk(parts));
  } else chunks.push(chunk([{ text: '', thoughtSignature: signature }]));
  const broken = calls.some(({ raw }) => raw !== undefined);
  const finishReason = finish === 'length' ? 'MAX_TOKENS' : broken ? 'MALFORMED_FUNCTION_CALL' : 'STOP';
  const isMalformed = finishReason === 'MALFORMED_FUNCTION_CALL';
  const last = isMalformed
    ? { content: {}, finishReason, finishMessage: 'Malformed function call' }
    : { finishReason };
  return sse([...(isMalformed ? chunks.slice(0, -1) : chunks), chunk([], last)]);
}

const error = (code: number, status: string, message: string, details: object[] = []) => ({
  status: code,
  body: { error: { code, message, status, details } },
});

/** Gemini's generateContent. */
export const gemini: Dialect = {
  name: 'gemini',
  contentType: 'text/event-stream',
  path: /^\/v1beta\/models\/[^/]+:streamGenerateContent$/,
  environment: (url, key) => ({
    DUOLOGUE_MODEL: 'gemini-fake',
    GOOGLE_API_KEY: key,
    GOOGLE_GEMINI_BASE_URL: url,
  }),
  keyIn: (headers) => String(headers['x-goog-api-key'] ?? ''),
  callId: () => '',
  read,
  write,
  trouble(kind) {
    switch (kind) {
      case 'key':
        return error(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key. KEY', [
          { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' },
        ]);
      case 'model':
        return error(404, 'NOT_FOUND', 'models/gemini-fake is not found for API version v1beta');
      case 'rate':
        return error(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota', [
          { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '0s' },
        ]);
      case 'quota':
        return error(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota, please check your plan');
      case 'overloaded':
        return error(503, 'UNAVAILABLE', 'The model is overloaded.', [
          { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '0s' },
        ]);
    }
  },
  errorPiece: () =>
    `data: ${JSON.stringify({ error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } })}\n\n`,
};
