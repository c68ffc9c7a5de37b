import { type BaseTool, LlmAgent, LogLevel, setLogLevel } from '@google/adk';
import { WebSocket } from 'ws';
import { BlockDecoder, decodeBinary, FRAME_VERSION } from '../../src/protocol/index.ts';
import { serve } from '../../src/server/adapters/node.ts';
import { createDuologue, type DuologueOptions } from '../../src/server/index.ts';
import { ScriptedModel, type ScriptedTurn } from '../../test/support/scripted-model.ts';

/** A block that a client received: its chunk id, if it has one, and its data. */
interface Block {
  id: string | undefined;
  value: { type: string; data?: Record<string, unknown> } & Record<string, unknown>;
}

/** One client of a recorded exchange: what it received, in order, and how much of that is already in the transcript. */
export class RecordedClient {
  readonly blocks: Block[] = [];
  readonly #lines: string[] = [];
  readonly #decoder = new BlockDecoder();
  readonly #name: string;
  readonly #waiting = new Set<() => void>();
  socket: WebSocket | undefined;
  dones = 0;
  sounds = 0;

  constructor(name: string) {
    this.#name = name;
  }

  /** The lines that were received since the last call. */
  takeLines(): string[] {
    return this.#lines.splice(0).map((line) => `${this.#name}< ${line}`);
  }

  /** The lines of something that the client sends. */
  sends(...lines: string[]): string[] {
    return lines.map((line) => `${this.#name}> ${line}`);
  }

  /** Resolves when the condition holds; it is checked after everything that arrives. */
  until(condition: () => boolean): Promise<void> {
    if (condition()) return Promise.resolve();
    return new Promise((resolve) => {
      const check = () => {
        if (!condition()) return;
        this.#waiting.delete(check);
        resolve();
      };
      this.#waiting.add(check);
    });
  }

  /** The nth chunk of a type that the client received. */
  async chunk(type: string, nth = 1): Promise<Block['value']> {
    const found = () => this.blocks.filter(({ value }) => value.type === type)[nth - 1];
    await this.until(() => found() !== undefined);
    return found()?.value as Block['value'];
  }

  /** The chunk id of the newest chunk that has one. */
  get last(): string {
    return this.blocks.findLast(({ id }) => id !== undefined)?.id ?? '';
  }

  note(line: string): void {
    this.#lines.push(line);
    for (const check of [...this.#waiting]) check();
  }

  receive(text: string): void {
    if (text.startsWith('{')) return this.note(text);
    for (const { id, data } of this.#decoder.push(text)) {
      if (data === '[DONE]') {
        this.dones += 1;
        this.note('[DONE]');
      } else {
        this.blocks.push({ id, value: JSON.parse(data) as Block['value'] });
        this.note(`${id ?? '-'} ${data}`);
      }
    }
  }

  receiveBinary(bytes: Uint8Array): void {
    const frame = decodeBinary(bytes);
    this.sounds += 1;
    this.note(
      `binary: kind ${frame?.kind}, utterance ${frame?.utterance}, ${frame?.sampleRate} Hz, ${(frame?.payload.byteLength ?? 0) / 2} samples`,
    );
  }
}

/** A server with a scripted model, its clients, and the transcript of what crosses the wire. */
export class Recorder {
  readonly #lines: string[] = [];
  readonly #clients: RecordedClient[] = [];
  readonly #url: string;
  readonly close: () => Promise<void>;

  private constructor(url: string, close: () => Promise<void>) {
    this.#url = url;
    this.close = close;
  }

  /** Starts a server whose model plays these turns. */
  static async start(
    turns: readonly ScriptedTurn[],
    tools: BaseTool[] = [],
    model = new ScriptedModel(turns),
    options: Partial<DuologueOptions> = {},
  ): Promise<Recorder> {
    setLogLevel(LogLevel.ERROR);
    let id = 0;
    const duologue = createDuologue({
      agent: new LlmAgent({ name: 'assistant', model, tools }),
      newId: () => `id-${String(++id).padStart(4, '0')}`,
      retryPolicy: { retries: 0, firstTokenMs: null, nextTokenMs: null },
      logger: { info() {}, warn() {}, error() {} },
      ...options,
    });
    const served = await serve(duologue, { port: 0, quiet: true });
    return new Recorder(served.url, () => served.close());
  }

  client(name = ''): RecordedClient {
    const client = new RecordedClient(name);
    this.#clients.push(client);
    return client;
  }

  /** A remark in the transcript. */
  remark(text: string): void {
    this.#lines.push(`# ${text}`);
  }

  /** Runs an action, waits for its effects, and writes what each client received to the transcript. */
  async step(sent: string[], ...waits: Promise<unknown>[]): Promise<void> {
    this.#lines.push(...sent);
    await Promise.all(waits);
    for (const client of this.#clients) this.#lines.push(...client.takeLines());
    this.#lines.push('');
  }

  /** Connects a client over a WebSocket; returns the lines of the handshake. */
  connect(client: RecordedClient, query: string, subprotocol = 'duologue.v2'): string[] {
    const socket = new WebSocket(`${this.#url.replace('http', 'ws')}/live${query}`, [subprotocol]);
    client.socket = socket;
    socket.on('message', (data: Buffer, isBinary: boolean) =>
      isBinary ? client.receiveBinary(new Uint8Array(data)) : client.receive(data.toString('utf8')),
    );
    return client.sends(`WS /live${query} (subprotocol ${subprotocol})`);
  }

  /** Sends a frame; returns its line. */
  send(client: RecordedClient, type: string, data: object): string[] {
    const text = JSON.stringify({ type, version: FRAME_VERSION, data });
    client.socket?.send(text);
    return client.sends(text);
  }

  /** Posts to `/stream` and reads the response to its end; returns the lines of the request. */
  post(client: RecordedClient, body: object): { lines: string[]; ended: Promise<void> } {
    const ended = (async () => {
      const response = await fetch(`${this.#url}/stream`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      client.note(`${response.status} ${response.headers.get('content-type')}`);
      client.receive(await response.text());
    })();
    return { lines: client.sends('POST /stream', JSON.stringify(body)), ended };
  }

  /** The transcript, with times and generated ids replaced by stable ones. */
  transcript(): string {
    return stable(this.#lines.join('\n').trimEnd());
  }
}

const DAY = Date.UTC(2026, 0, 1);

/** Ids become numbers in the order of their appearance, times become one time. */
function stable(text: string): string {
  const known = new Map<string, string>();
  const counts = new Map<string, number>();
  const named = (id: string, kind: string): string => {
    const before = known.get(id);
    if (before !== undefined) return before;
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    const given = `${kind}-${count}`;
    known.set(id, given);
    return given;
  };
  // Chunk ids begin with an epoch, which `data-session` names too.
  for (const [, epoch = ''] of text.matchAll(/"epoch":"([^"]+)"/g)) named(epoch, 'epoch');
  for (const [, connection = ''] of text.matchAll(/"connectionId":"([^"]+)"/g))
    named(connection, 'connection');
  const kinds: Record<string, string> = { msg_: 'msg', approval_: 'approval', '': 'epoch' };
  return text
    .replaceAll(/(msg_|approval_|)id-\d{4}/g, (id, prefix: string) => named(id, kinds[prefix] ?? 'id'))
    .replaceAll(/"createdAt":\d{13}/g, `"createdAt":${DAY}`)
    .replaceAll(/"expiresAt":\d{13}/g, `"expiresAt":${DAY + 30_000}`);
}
