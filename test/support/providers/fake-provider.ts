import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { LlmResponse } from '@google/adk';
import { createImageDecoder } from '../../../demo/server/decode-image.ts';
import { EmbeddedModel } from '../../../src/models/index.ts';
import { rules } from '../../demo/support/agent.ts';
import { anthropic } from './anthropic.ts';
import { bedrock } from './bedrock.ts';
import {
  type Answer,
  type Asked,
  type Dialect,
  type Memory,
  type Piece,
  Refused,
  type Trouble,
} from './dialect.ts';
import { gemini } from './gemini.ts';
import { compatible, openaiChat } from './openai-chat.ts';
import { compatibleResponses, openaiResponses } from './openai-responses.ts';

/** Every provider that there is a fake of. */
export const DIALECTS: readonly Dialect[] = [
  openaiChat,
  openaiResponses,
  anthropic,
  bedrock,
  compatible,
  compatibleResponses(),
  gemini,
];

/** The fault of one request. */
export type Fault =
  | Trouble
  /** A page of a proxy instead of an answer. */
  | 'page'
  /** The connection is lost: before the first byte of the answer, or in the middle. */
  | 'reset'
  | 'reset in the middle'
  /** The provider sends nothing more: from the beginning, or from the middle on. */
  | 'silence'
  | 'silence in the middle'
  /** The stream ends without its end. */
  | 'cut off'
  /** An error inside the stream: as its first word, or in the middle. */
  | 'error'
  | 'error in the middle'
  /** The arguments of calls are no JSON, or end with the tokens. */
  | 'broken arguments'
  | 'cut arguments';

const TROUBLES: readonly string[] = ['key', 'model', 'rate', 'quota', 'overloaded'];

/**
 * A provider on this machine. It is as strict about what it is asked as the real one, answers with the rules of the
 * embedded model, and fails when a test says so.
 */
export class FakeProvider {
  readonly key = 'Secret-0123456789-abcdef';
  readonly dialect: Dialect;
  /** The faults of the next requests, in order. */
  readonly faults: Fault[] = [];
  /** The requests that the provider accepted. */
  readonly asked: Asked[] = [];
  /** Why the provider refused requests. */
  readonly refused: string[] = [];
  /** Returns an answer in place of the one that the rules give. */
  answer: ((asked: Asked) => Omit<Answer, 'calls'> & { calls?: Answer['calls'] }) | undefined;
  /** Answers wait for this promise. */
  before: Promise<unknown> = Promise.resolve();
  url = '';
  private readonly rules = new EmbeddedModel({ paceMs: 0, rules, decodeImage: createImageDecoder() });
  readonly memory: Memory = { items: new Map(), count: 0 };
  readonly server: Server;
  private calls = 0;

  constructor(dialect: Dialect) {
    this.dialect = dialect;
    this.server = createServer((request, response) => {
      this.serve(request, response).catch((error: unknown) => {
        this.refused.push(`the fake failed: ${error}`);
        response.destroy();
      });
    });
  }

  static async start(dialect: Dialect): Promise<FakeProvider> {
    const fake = new FakeProvider(dialect);
    await new Promise<void>((resolve) => fake.server.listen(0, '127.0.0.1', resolve));
    fake.url = `http://127.0.0.1:${(fake.server.address() as AddressInfo).port}`;
    return fake;
  }

  /** The environment variables that make a server use this provider. */
  get environment(): Record<string, string> {
    return this.dialect.environment(this.url, this.key);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { dialect, memory } = this;
    const [path = ''] = (request.url ?? '').split('?');
    const bytes: Buffer[] = [];
    for await (const chunk of request) bytes.push(chunk as Buffer);
    if (!dialect.path.test(path)) return this.refuse(response, 404, `there is nothing at ${path}`);
    const shown = dialect.keyIn(request.headers);
    if (shown !== this.key) return this.fail(response, 'key', shown);
    const fault = this.faults.shift();
    if (fault === 'reset') return void response.destroy();
    if (fault === 'silence') return;
    if (fault === 'page') {
      response.writeHead(502, { 'content-type': 'text/html' });
      return void response.end(
        '<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>',
      );
    }
    if (fault !== undefined && TROUBLES.includes(fault)) return this.fail(response, fault as Trouble, shown);

    await this.before;
    memory.count += 1;
    let asked: Asked;
    try {
      asked = dialect.read(JSON.parse(Buffer.concat(bytes).toString('utf8')), memory);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return this.refuse(response, 400, error.message);
    }
    this.asked.push(asked);
    const pieces = dialect.write(spoilt(await this.think(asked), fault), memory);
    response.writeHead(200, { 'content-type': dialect.contentType });
    if (fault === 'error') return void response.end(dialect.errorPiece());
    const half = Math.max(1, Math.floor(pieces.length / 2));
    switch (fault) {
      case 'cut off':
        await write(response, pieces.slice(0, half));
        return void response.end();
      case 'reset in the middle':
        await write(response, pieces.slice(0, half));
        return void response.destroy();
      case 'silence in the middle':
        return write(response, pieces.slice(0, half));
      case 'error in the middle':
        await write(response, pieces.slice(0, half));
        return void response.end(dialect.errorPiece());
      default:
        await write(response, pieces);
        response.end();
    }
  }

  /** The answer of the rules to a conversation. */
  async think({ contents, tools, ...rest }: Asked): Promise<Answer> {
    if (this.answer) return { calls: [], ...this.answer({ contents, tools, ...rest }) };
    const declarations = tools.map((name) => ({ name }));
    let final: LlmResponse | undefined;
    for await (const response of this.rules.generateContentAsync({
      contents,
      config: { tools: [{ functionDeclarations: declarations }] },
      toolsDict: {},
      liveConnectConfig: {},
    })) {
      final = response;
    }
    const parts = final?.content?.parts ?? [];
    const thought = parts.find((part) => part.thought)?.text;
    const text = parts.find((part) => part.text && !part.thought)?.text;
    return {
      ...(thought ? { thought } : {}),
      ...(text ? { text } : {}),
      calls: parts.flatMap(({ functionCall }) =>
        functionCall
          ? [
              {
                id: this.dialect.callId(++this.calls),
                name: functionCall.name ?? '',
                args: functionCall.args ?? {},
              },
            ]
          : [],
      ),
      finish: 'stop',
    };
  }

  /** Fails as the provider does. Where its words would name the key, they do. */
  private fail(response: ServerResponse, kind: Trouble, key: string): void {
    const { status, body, headers } = this.dialect.trouble(kind);
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body).replaceAll('KEY', key));
  }

  private refuse(response: ServerResponse, status: number, message: string): void {
    this.refused.push(message);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message }, message }));
  }
}

/** An answer whose calls came out wrong. */
function spoilt(answer: Answer, fault: Fault | undefined): Answer {
  if (fault !== 'broken arguments' && fault !== 'cut arguments') return answer;
  const calls = answer.calls.map((call) => {
    const raw = JSON.stringify(call.args);
    return { ...call, raw: fault === 'broken arguments' ? raw.replace(':', '::') : raw.slice(0, -2) };
  });
  return { ...answer, calls, finish: fault === 'cut arguments' ? 'length' : answer.finish };
}

/** Writes piece by piece, as a model does. */
async function write(response: ServerResponse, pieces: readonly Piece[]): Promise<void> {
  for (const piece of pieces) {
    if (!response.writable) return;
    await new Promise<void>((resolve) => {
      response.write(piece, () => resolve());
    });
  }
}
