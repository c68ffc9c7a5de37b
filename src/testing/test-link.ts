import {
  BlockDecoder,
  type Chunk,
  encodeFrame,
  ProtocolError,
  WATCHING_SUBPROTOCOL,
  type WireError,
} from '../protocol/index.ts';
import type { AcceptedSocket, Duologue } from '../server/index.ts';

/** The server and session that a test client connects to, and the headers of its requests. */
export interface LinkOptions {
  duologue: Duologue;
  session: string;
  /** The address of the server, with its base path. No request goes over a network. */
  url: string;
  headers: Record<string, string>;
}

/** The callbacks of a link. */
export interface LinkEvents {
  /** Called with chunks that arrived together; `null` is the end of a response or a turn. */
  received(chunks: readonly (Chunk | null)[]): void;
  /** Called when the server ended the connection. */
  closed(why: Error): void;
}

/** One connection of a test client, without a network: it calls the server as an adapter does. */
export interface TestLink {
  /** Whether `null` arrives only at the end of a turn. Over SSE (false) it also arrives when the turn pauses for an answer. */
  readonly isBidi: boolean;
  open(events: LinkEvents): Promise<void>;
  /** Sends a request. The server accepts or refuses it in a chunk. Over SSE an HTTP error rejects instead. */
  send(body: { messages: unknown[]; requestId: string }): Promise<void>;
  interrupt(requestId: string): Promise<void>;
  close(): void;
}

/** Decodes the SSE blocks of a text to chunks. */
function chunksIn(decoder: BlockDecoder, text: string): (Chunk | null)[] {
  return decoder.push(text).map(({ data }) => (data === '[DONE]' ? null : (JSON.parse(data) as Chunk)));
}

/** A client over SSE: it posts its requests, and reads every chunk of the session from one stream. */
export class SseLink implements TestLink {
  readonly isBidi = false;
  readonly #options: LinkOptions;
  #reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  #events: LinkEvents | null = null;
  #isClosed = false;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  async open(events: LinkEvents): Promise<void> {
    this.#events = events;
    const { session } = this.#options;
    const response = await this.#fetch(`/sessions/${encodeURIComponent(session)}/watch`);
    this.#reader = response.body?.getReader() ?? null;
    this.#follow(events).catch((error: unknown) => events.closed(toError(error)));
  }

  async send(body: { messages: unknown[]; requestId: string }): Promise<void> {
    const response = await this.#fetch('/stream', { id: this.#options.session, watches: true, ...body });
    const replies = chunksIn(new BlockDecoder(), await response.text());
    this.#events?.received(replies.filter((chunk) => chunk !== null));
  }

  async interrupt(): Promise<void> {
    await this.#fetch(`/sessions/${encodeURIComponent(this.#options.session)}/stop`);
  }

  close(): void {
    this.#isClosed = true;
    this.#reader?.cancel().catch(() => undefined);
  }

  async #follow(events: LinkEvents): Promise<void> {
    const decoder = new BlockDecoder();
    const text = new TextDecoder();
    for (;;) {
      const next = await this.#reader?.read();
      if (!next || next.done) break;
      events.received(chunksIn(decoder, text.decode(next.value, { stream: true })));
    }
    if (!this.#isClosed) events.closed(new Error('The server ended the stream of the session.'));
  }

  async #fetch(path: string, body: object = {}): Promise<Response> {
    const { duologue, url, headers } = this.#options;
    const response = await duologue.fetch(
      new Request(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    );
    if (response.status < 400) return response;
    throw refusalOf(await response.text(), response.status);
  }
}

/** The error that the server answered with. */
function refusalOf(body: string, status: number): Error {
  try {
    const { code, message, retryAfterMs, requestId } = (JSON.parse(body) as { error: WireError }).error;
    return new ProtocolError(code, message, { retryAfterMs, requestId });
  } catch {
    return new Error(`The server answered with status ${status}: ${body}`);
  }
}

/** A client over BIDI: a socket of the server whose other end is this object. */
export class BidiLink implements TestLink {
  readonly isBidi = true;
  readonly #options: LinkOptions;
  #socket: AcceptedSocket | null = null;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  async open(events: LinkEvents): Promise<void> {
    const { duologue, url, headers, session } = this.#options;
    const address = `${url}/live?session=${encodeURIComponent(session)}`;
    const admission = await duologue.sockets.admit(new Request(address, { headers }));
    const decoder = new BlockDecoder();
    const socket = admission.accept({
      protocol: WATCHING_SUBPROTOCOL,
      bufferedAmount: 0,
      send: (data) => {
        // Pass on only chunks: sound arrives as bytes, and the answer to a ping as a JSON object.
        if (typeof data === 'string' && !data.startsWith('{')) events.received(chunksIn(decoder, data));
      },
      ping: () => this.#socket?.pong(),
      pong: () => undefined,
      close: (code, reason) => {
        this.close();
        events.closed(new Error(`The server closed the connection (${code}): ${reason}`));
      },
    });
    this.#socket = socket;
  }

  async send(body: { messages: unknown[]; requestId: string }): Promise<void> {
    this.#write(encodeFrame('message', body as Parameters<typeof encodeFrame<'message'>>[1]));
  }

  async interrupt(requestId: string): Promise<void> {
    this.#write(encodeFrame('interrupt', { requestId }));
  }

  close(): void {
    this.#socket?.closed();
    this.#socket = null;
  }

  #write(frame: string): void {
    const bytes = new TextEncoder().encode(frame);
    this.#socket?.receive(bytes, false);
    this.#socket?.arrived(bytes.byteLength);
  }
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
