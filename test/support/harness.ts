import { type BaseTool, LlmAgent, LogLevel, setLogLevel } from '@google/adk';
import { BlockDecoder, type Chunk } from '../../src/protocol/index.ts';
import { createDuologue, type Duologue, type DuologueOptions, type Logger } from '../../src/server/index.ts';
import { ScriptedModel, type ScriptedTurn } from './scripted-model.ts';

/** A server with a scripted model. */
export interface Harness {
  duologue: Duologue;
  model: ScriptedModel;
  /** Posts a body and reads the whole response. */
  post(body: unknown, headers?: Record<string, string>): Promise<Posted>;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
}

setLogLevel(LogLevel.ERROR);

const SILENT: Logger = { info() {}, warn() {}, error() {} };

/** A response, read to its end. */
export interface Posted {
  status: number;
  chunks: Chunk[];
  ids: (string | undefined)[];
  dones: number;
  json: unknown;
  headers: Headers;
}

/** Makes a server around a scripted model with these tools. */
export function harness(
  turns: readonly ScriptedTurn[],
  tools: BaseTool[] = [],
  options: Partial<DuologueOptions> = {},
): Harness {
  const model = new ScriptedModel(turns);
  const agent = new LlmAgent({ name: 'assistant', model, instruction: 'Test.', tools });
  let id = 0;
  const duologue = createDuologue({
    agent,
    newId: () => `id-${String(++id).padStart(4, '0')}`,
    // A script has one turn for each call, and is silent for as long as the test is.
    retryPolicy: { retries: 0, firstTokenMs: null, nextTokenMs: null },
    logger: SILENT,
    ...options,
  });
  return {
    duologue,
    model,
    async post(body, headers = {}) {
      return read(
        await duologue.fetch(
          new Request('http://localhost/stream', {
            method: 'POST',
            headers: { 'content-type': 'application/json', ...headers },
            body: typeof body === 'string' ? body : JSON.stringify(body),
          }),
        ),
      );
    },
    get: (path, headers = {}) => duologue.fetch(new Request(`http://localhost${path}`, { headers })),
  };
}

/** Reads an SSE response, or the JSON of an error. */
export async function read(response: Response): Promise<Posted> {
  const text = await response.text();
  const { status, headers } = response;
  if (!headers.get('content-type')?.startsWith('text/event-stream')) {
    return { status, headers, chunks: [], ids: [], dones: 0, json: text ? JSON.parse(text) : null };
  }
  const decoder = new BlockDecoder();
  const blocks = [...decoder.push(text), ...decoder.end()];
  const chunks = blocks.filter(({ data }) => data !== '[DONE]');
  return {
    status,
    headers,
    json: null,
    chunks: chunks.map(({ data }) => JSON.parse(data) as Chunk),
    ids: chunks.map(({ id }) => id),
    dones: blocks.length - chunks.length,
  };
}

/** A body with one user message. */
export function say(text: string, id = 'chat-1', messageId = `user-${text.slice(0, 20)}`): object {
  return {
    id,
    messages: [{ id: messageId, role: 'user', parts: [{ type: 'text', text }] }],
    trigger: 'submit-message',
  };
}

/** The types of chunks, shortened: deltas of one block count once. */
export function shape(chunks: readonly Chunk[]): string[] {
  return chunks
    .map((chunk) => chunk.type)
    .filter((type, index, all) => !(type.endsWith('-delta') && all[index - 1] === type));
}
