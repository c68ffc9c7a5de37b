import { WebSocket } from 'ws';
import { BlockDecoder, type Chunk, SUBPROTOCOL } from '../../src/protocol/index.ts';

/** A piece of what came over a socket: a chunk, the end of a turn, sound, a pong, or the close. */
export type Received =
  | { kind: 'chunk'; chunk: Chunk; id: string | undefined }
  | { kind: 'done' }
  | { kind: 'binary'; bytes: Uint8Array }
  | { kind: 'raw'; value: unknown }
  | { kind: 'close'; code: number };

/** A client of `/live` that remembers everything and waits for what a test names. */
export class TestSocket {
  readonly received: Received[] = [];
  readonly socket: WebSocket;
  private readonly waiting: {
    until: (all: Received[]) => boolean;
    resolve: () => void;
    reject: (e: Error) => void;
  }[] = [];
  private readonly decoder = new BlockDecoder();

  constructor(
    url: string,
    options: { plain?: boolean; headers?: Record<string, string>; protocols?: string[] } = {},
  ) {
    const protocols = options.protocols ?? (options.plain ? [] : [SUBPROTOCOL]);
    this.socket = new WebSocket(url, protocols, { headers: options.headers ?? {} });
    this.socket.on('message', (data: Buffer, isBinary: boolean) => this.take(data, isBinary));
    this.socket.on('close', (code) => this.add({ kind: 'close', code }));
    this.socket.on('error', () => undefined);
  }

  opened(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.socket.once('open', () => resolve());
      this.socket.once('error', reject);
    });
  }

  send(type: string, data: unknown = {}): void {
    this.socket.send(JSON.stringify({ type, version: '1.0', data }));
  }

  say(text: string, id = `user-${text.slice(0, 20)}`): void {
    this.send('message', { messages: [{ id, role: 'user', parts: [{ type: 'text', text }] }] });
  }

  /** The chunks so far, without transient ones. */
  get chunks(): Chunk[] {
    return this.received.flatMap((one) =>
      one.kind === 'chunk' && !('transient' in one.chunk && one.chunk.transient) ? [one.chunk] : [],
    );
  }

  get dones(): number {
    return this.received.filter((one) => one.kind === 'done').length;
  }

  get lastId(): string | undefined {
    return this.received.findLast((one) => one.kind === 'chunk' && one.id !== undefined && one.id !== '')
      ?.kind === 'chunk'
      ? (this.received.findLast((one) => one.kind === 'chunk' && one.id) as { id: string }).id
      : undefined;
  }

  /** Resolves when what was received fulfils the condition; rejects after a bounded time, saying what came. */
  until(condition: (all: Received[]) => boolean, what = 'what the test waits for'): Promise<void> {
    if (condition(this.received)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        const seen = this.received.map((one) => (one.kind === 'chunk' ? one.chunk.type : one.kind)).join(' ');
        reject(new Error(`${what} did not come; received: ${seen}`));
      }, 120_000);
      this.waiting.push({
        until: condition,
        resolve: () => {
          clearTimeout(timer);
          resolve();
        },
        reject,
      });
    });
  }

  chunk<T extends Chunk['type']>(type: T, nth = 1): Promise<Extract<Chunk, { type: T }>> {
    const found = (all: Received[]) =>
      all.flatMap((one) => (one.kind === 'chunk' && one.chunk.type === type ? [one.chunk] : []))[nth - 1];
    return this.until((all) => found(all) !== undefined, `chunk ${type} number ${nth}`).then(
      () => found(this.received) as Extract<Chunk, { type: T }>,
    );
  }

  done(nth = 1): Promise<void> {
    return this.until(
      (all) => all.filter((one) => one.kind === 'done').length >= nth,
      `[DONE] number ${nth}`,
    );
  }

  closed(): Promise<number> {
    const code = (all: Received[]) => all.find((one) => one.kind === 'close');
    return this.until((all) => code(all) !== undefined, 'close').then(() => {
      const close = code(this.received);
      return close?.kind === 'close' ? close.code : 0;
    });
  }

  close(): void {
    this.socket.close();
  }

  private take(data: Buffer, isBinary: boolean): void {
    if (isBinary) return this.add({ kind: 'binary', bytes: data });
    const text = data.toString('utf8');
    if (text.startsWith('{')) return this.add({ kind: 'raw', value: JSON.parse(text) });
    for (const { id, data: value } of this.decoder.push(text)) {
      this.add(value === '[DONE]' ? { kind: 'done' } : { kind: 'chunk', chunk: JSON.parse(value), id });
    }
  }

  private add(one: Received): void {
    this.received.push(one);
    for (const waiter of [...this.waiting]) {
      if (!waiter.until(this.received)) continue;
      this.waiting.splice(this.waiting.indexOf(waiter), 1);
      waiter.resolve();
    }
  }
}
