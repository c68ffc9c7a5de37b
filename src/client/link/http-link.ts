import type { Chunk } from '../../protocol/chunks.ts';
import { ERRORS, ProtocolError } from '../../protocol/errors.ts';
import { DuologueHttp, type HttpOptions, pathOf } from '../http.ts';
import { systemTimers, type Timers } from '../platform.ts';
import { readChunks, readStream, type StreamSource } from './event-stream.ts';
import {
  type Link,
  type LinkEvents,
  type LinkKind,
  type LinkTarget,
  LOST,
  type OutgoingFrame,
  type RequestExtras,
} from './link.ts';

/** The longest silence of a stream that still works. The server sends keep-alive comments more often than this. */
const SILENCE_MS = 3_500;
/** The timeout of a POST, without the time that a slow network needs to upload the body (`BYTES_PER_MS`). */
const POST_MS = 10_000;
const BYTES_PER_MS = 20;

/**
 * Links over HTTP. Each request is a POST. All chunks of the session arrive in one separate stream, even those of requests of other pages. `read` reads
 * that stream; a link that polls can pass its own function.
 */
export function httpLinks(
  options: HttpOptions & { timers?: Timers | undefined },
  read: typeof readStream = readStream,
): LinkKind {
  const http = new DuologueHttp(options);
  const context = { http, read, timers: options.timers ?? systemTimers };
  return {
    canBeActive: false,
    batchesAnswers: true,
    pausesWhenHidden: true,
    open: (target, events) => new HttpLink(context, target, events),
    async findCause() {
      const error = await http.findCause();
      // `findCause` asks the route for WebSockets, so `upgrade_required` shows that the server works. So retry.
      return error?.code === 'upgrade_required' ? null : error;
    },
  };
}

/** The objects that all HTTP links share. */
interface HttpContext {
  http: DuologueHttp;
  timers: Timers;
  read: typeof readStream;
}

class HttpLink implements Link {
  readonly #http: DuologueHttp;
  readonly #timers: Timers;
  readonly #events: LinkEvents;
  readonly #sessionId: string;
  readonly #controller = new AbortController();
  /** Resolves when the server has answered the previous POST, or that POST has failed. The next POST waits for it, so that POSTs arrive in order. */
  #posted: Promise<void> = Promise.resolve();
  #lastReceivedAt = 0;

  constructor({ http, timers, read }: HttpContext, target: LinkTarget, events: LinkEvents) {
    this.#http = http;
    this.#timers = timers;
    this.#events = events;
    // The first POST creates the session with the id in its body, so this link has to create the id of a new session.
    this.#sessionId = target.sessionId ?? crypto.randomUUID();
    void this.#watch(read, target.last);
  }

  send({ type, data, extras }: OutgoingFrame): number {
    switch (type) {
      case 'message':
        return this.#post({ ...extras?.body, ...data, id: this.#sessionId, watches: true }, extras);
      case 'interrupt':
        void this.#stop(data.requestId);
        return 0;
      case 'floor':
        void this.#claim();
        return 0;
      default:
        // No other frame is sent over HTTP: sound needs a socket, and outputs of browser tools are sent as messages.
        return 0;
    }
  }

  sendBinary(): boolean {
    return false;
  }

  ping(): void {
    if (this.#timers.now() - this.#lastReceivedAt < SILENCE_MS) this.#receive();
  }

  close(): void {
    this.#controller.abort();
  }

  async #watch(read: typeof readStream, last: string | null): Promise<void> {
    const { signal } = this.#controller;
    const path = `${pathOf(this.#sessionId)}/watch`;
    const source: StreamSource = {
      open: (from) => {
        const query = from === null ? '' : `?last=${encodeURIComponent(from)}`;
        return this.#http.ask(path + query, { method: 'POST', signal });
      },
      receive: (chunks) => {
        if (signal.aborted) return;
        this.#lastReceivedAt = this.#timers.now();
        this.#events.onChunks(chunks);
      },
      signal,
      sharedName: this.#http.sharedName(path),
    };
    try {
      await read(source, last);
      this.#end(LOST);
    } catch (error) {
      if (!(error instanceof ProtocolError)) return this.#end(LOST);
      const meaning = ERRORS[error.code];
      this.#end('close' in meaning ? meaning.close : LOST, error.message);
    }
  }

  #post(
    body: { requestId?: string | undefined; id: string; watches: true },
    extras: RequestExtras | undefined,
  ): number {
    const text = JSON.stringify(body);
    const headers = {
      ...Object.fromEntries(new Headers(extras?.headers)),
      'content-type': 'application/json',
    };
    const { signal } = this.#controller;
    this.#posted = this.#posted.then(async () => {
      const limit = POST_MS + text.length / BYTES_PER_MS;
      const cancel = this.#timers.after(limit, () => this.#end(LOST));
      try {
        const init = { method: 'POST', headers, body: text, signal };
        void this.#readReply(await this.#http.ask('/stream', init));
      } catch (error) {
        this.#fail(error, body.requestId);
      } finally {
        cancel();
      }
    });
    return text.length;
  }

  /** Reads the private replies at the start of the response to a POST, and cancels the rest, because all other chunks also arrive in the stream. */
  async #readReply(response: Response): Promise<void> {
    let isAnswered = false;
    await readChunks(response, (chunks) =>
      chunks.every(({ id, chunk }) => {
        isAnswered = true;
        const isReply = id === undefined && (chunk?.type === 'data-accepted' || chunk?.type === 'data-error');
        if (isReply) this.#receive(chunk);
        return isReply;
      }),
    );
    // The response broke off before its first chunk. So end this link: the session info of the next link lists the requests that the server accepted.
    if (!isAnswered) this.#end(LOST);
  }

  async #claim(): Promise<void> {
    try {
      await this.#http.send('POST', `${pathOf(this.#sessionId)}/floor`, {});
    } catch (error) {
      this.#fail(error);
    }
  }

  async #stop(requestId = ''): Promise<void> {
    try {
      await this.#http.stopSession(this.#sessionId);
      this.#receive({ type: 'data-accepted', data: { requestId }, transient: true });
    } catch (error) {
      this.#fail(error, requestId);
    }
  }

  /**
   * Handles a failed request. If the request may not have reached the server, the server is shutting down (503), or a proxy got no answer from it (504), the
   * link ends, and the next link sends unanswered requests again. Otherwise the error is reported as a private reply.
   */
  #fail(error: unknown, requestId?: string): void {
    if (!(error instanceof ProtocolError) || error.status === ERRORS.shutting_down.status) this.#end(LOST);
    else {
      const about = requestId === undefined ? {} : { requestId };
      this.#receive({ type: 'data-error', data: { ...error.toWire(), ...about }, transient: true });
    }
  }

  /** Reports a chunk that did not arrive in the stream. Without a chunk, it reports only that the server still answers. */
  #receive(chunk?: Chunk): void {
    if (!this.#controller.signal.aborted) this.#events.onChunks(chunk ? [{ chunk, id: undefined }] : []);
  }

  #end(code: number, reason = ''): void {
    if (this.#controller.signal.aborted) return;
    this.#controller.abort();
    this.#events.onClose(code, reason);
  }
}
