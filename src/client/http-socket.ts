import type { Block } from '../protocol/codec.ts';
import { ERRORS, ProtocolError } from '../protocol/errors.ts';
import type { WebSocketLike } from './dial.ts';
import { type DuologueHttp, pathOf } from './http.ts';
import { readBlocks } from './read-blocks.ts';
import { SharedStream } from './shared-stream.ts';
import type { Timers } from './timers.ts';

/** A stream that is silent for longer than this is late with its keep-alive comment. */
const SILENCE_MS = 3_500;
const LOST = 1006;
/** A post that nothing answers for so long, and the time that its bytes take to send, is with a server that is frozen. */
const POST_MS = 10_000;
const BYTES_PER_MS = 20;

/** What a frame says, with the headers of its post. */
interface Data {
  requestId?: string;
  headers?: Record<string, string>;
}

/**
 * A socket that is made of requests: what the page says is posted, and what it hears comes in the stream of one who
 * watches. So a page over HTTP is told all that a page over a WebSocket is, and what others do beside.
 */
export class HttpSocket implements WebSocketLike {
  binaryType = '';
  readonly bufferedAmount = 0;
  onmessage: WebSocketLike['onmessage'] = null;
  onclose: WebSocketLike['onclose'] = null;
  onerror: WebSocketLike['onerror'] = null;
  readonly #controller = new AbortController();
  readonly #http: DuologueHttp;
  readonly #session: string;
  readonly #timers: Timers;
  /** The post before is with the server: what is said in order is heard in order. */
  #posted: Promise<void> = Promise.resolve();
  #heardAt = 0;

  constructor(http: DuologueHttp, timers: Timers, session: string, last: string | null) {
    this.#http = http;
    this.#timers = timers;
    this.#session = session;
    void this.#watch(last);
  }

  send(text: string | Uint8Array): void {
    const { type, data } = JSON.parse(String(text)) as { type: string; data: Data };
    if (type === 'message') this.#post(data);
    else if (type === 'interrupt') void this.#stop(data.requestId);
    else if (type === 'floor') void this.#floor();
    else if (type === 'ping' && this.#timers.now() - this.#heardAt < SILENCE_MS) this.#hear('{}');
  }

  close(): void {
    this.#controller.abort();
  }

  async #watch(last: string | null): Promise<void> {
    const { signal } = this.#controller;
    const path = `${pathOf(this.#session)}/watch`;
    const open = (from: string | null) =>
      this.#http.ask(path + (from === null ? '' : `?last=${encodeURIComponent(from)}`), {
        method: 'POST',
        signal,
      });
    const hear = (blocks: Block[]) => this.#hearBlocks(blocks);
    try {
      const name = this.#http.sharedName(path);
      if (name !== null) await new SharedStream(name, last, { open, hear, signal }).read();
      else await readBlocks(await open(last), (blocks) => hear(blocks) ?? true);
      this.#end(LOST);
    } catch (error) {
      if (!(error instanceof ProtocolError)) return this.#end(LOST);
      const meaning = ERRORS[error.code];
      this.#end('close' in meaning ? meaning.close : LOST, error.message);
    }
  }

  /** Whole blocks: what is meant for a post alone may come between them. None at all is a sign of life. */
  #hearBlocks(blocks: Block[]): undefined {
    this.#heardAt = this.#timers.now();
    this.#hear(blocks.map(({ id, data }) => `${id ? `id: ${id}\n` : ''}data: ${data}\n\n`).join(''));
  }

  #post({ headers = {}, ...data }: Data): void {
    const body = { ...data, id: this.#session, watches: true };
    const { signal } = this.#controller;
    this.#posted = this.#posted.then(async () => {
      const limit = POST_MS + JSON.stringify(body).length / BYTES_PER_MS;
      const cancel = this.#timers.after(limit, () => this.#end(LOST));
      try {
        void this.#readAside(await this.#http.send('POST', '/stream', body, { signal, headers }));
      } catch (error) {
        this.#refused(error, data.requestId);
      } finally {
        cancel();
      }
    });
  }

  /** What is meant for whoever posted comes first in the response; all else is heard in the stream. */
  async #readAside(response: Response): Promise<void> {
    let isTold = false;
    await readBlocks(response, (blocks) =>
      blocks.every(({ id, data }) => {
        isTold = true;
        const isAside = id === undefined && /^{"type":"data-(accepted|error)"/.test(data);
        if (isAside) this.#hear(`data: ${data}\n\n`);
        return isAside;
      }),
    );
    // Whether it was taken is told on the next connection.
    if (!isTold) this.#end(LOST);
  }

  async #floor(): Promise<void> {
    await this.#http
      .send('POST', `${pathOf(this.#session)}/floor`, {})
      .catch((error) => this.#refused(error));
  }

  async #stop(requestId = ''): Promise<void> {
    try {
      await this.#http.stopSession(this.#session);
      this.#tell('data-accepted', { requestId });
    } catch (error) {
      this.#refused(error, requestId);
    }
  }

  /** A request failed. One that the server may have had no chance to take is sent again on the next connection. */
  #refused(error: unknown, requestId?: string): void {
    if (!(error instanceof ProtocolError) || error.status === ERRORS.shutting_down.status) this.#end(LOST);
    else this.#tell('data-error', { ...error.toWire(), requestId });
  }

  #tell(type: string, data: object): void {
    this.#hear(`data: ${JSON.stringify({ type, data, transient: true })}\n\n`);
  }

  #hear(data: string): void {
    this.onmessage?.({ data } as never);
  }

  #end(code: number, reason = ''): void {
    if (this.#controller.signal.aborted) return;
    this.#controller.abort();
    this.onclose?.({ code, reason } as never);
  }
}
