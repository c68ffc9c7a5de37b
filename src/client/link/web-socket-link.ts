import {
  decodeBinary,
  encodeFrame,
  KEY_SUBPROTOCOL,
  SUBPROTOCOL,
  WATCHING_SUBPROTOCOL,
} from '../../protocol/codec.ts';
import { ERRORS, ProtocolError } from '../../protocol/errors.ts';
import type { ServerFrame } from '../../protocol/wire/frames.ts';
import { DuologueHttp, type HttpOptions } from '../http.ts';
import { systemTimers, type Timers } from '../platform.ts';
import {
  ChunkDecoder,
  type Link,
  type LinkEvents,
  type LinkKind,
  type LinkTarget,
  LOST,
  type OutgoingFrame,
  type ReceivedChunk,
} from './link.ts';

/** The part of the browser's WebSocket that the client uses. */
export interface WebSocketLike {
  binaryType: string;
  readonly bufferedAmount: number;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code?: number, reason?: string): void;
}

/** Where the server is, and how to open a WebSocket to it. */
export interface WebSocketLinkOptions extends Pick<HttpOptions, 'url' | 'key' | 'fetch'> {
  /** Replaces the global `WebSocket`, for runtimes without one. */
  WebSocket?: (new (url: string, protocols: string[]) => WebSocketLike) | undefined;
  /** Whether the page stays connected when another connection becomes the active one. By default the server then closes this connection. */
  watches?: boolean | undefined;
  /** Gets every frame as it is sent and received, pings included. */
  onFrame?: ((direction: 'in' | 'out', data: string | Uint8Array) => void) | undefined;
  timers?: Timers | undefined;
}

/** How many bytes may wait in a socket. While more wait, sound and pictures are dropped, because late sound is worse than none. */
const MAX_BUFFERED = 256 * 1024;

/**
 * What the connection gets for a bare frame: no chunks, which shows only that the server still answers. That is enough for a `pong`, and for a bare frame of
 * a newer server (B1c). The compiler reports this line when `SERVER_FRAMES` declares another frame. Handle that frame in `#receive`.
 */
const SIGN_OF_LIFE: ServerFrame['type'] extends 'pong' ? ReceivedChunk[] : never = [];

/** Links over WebSocket: requests are frames, and answers to calls are sent one by one. */
export function webSocketLinks(options: WebSocketLinkOptions): LinkKind {
  // A browser sends cookies with a WebSocket handshake, so the request that asks why the handshake failed has to send them, too.
  const http = new DuologueHttp({ credentials: 'include', ...options });
  return {
    canBeActive: true,
    batchesAnswers: false,
    pausesWhenHidden: false,
    open: (target, events) => new WebSocketLink(options, target, events),
    async findCause() {
      const error = await http.findCause();
      if (error?.code !== 'upgrade_required') return error;
      return new ProtocolError(
        error.code,
        `The server at ${http.addressOf('') || '/'} answers, but no WebSocket to it can be opened. Let every proxy pass on "Upgrade" and open sockets on the server ("serve" or "attachWebSocket"), or use SSE.`,
      );
    },
  };
}

class WebSocketLink implements Link {
  readonly #options: WebSocketLinkOptions;
  readonly #events: LinkEvents;
  readonly #decoder = new ChunkDecoder();
  #socket: WebSocketLike | null = null;
  #isClosed = false;

  constructor(options: WebSocketLinkOptions, target: LinkTarget, events: LinkEvents) {
    this.#options = options;
    this.#events = events;
    const { key } = options;
    if (typeof key === 'function') void this.#openWith(key, target);
    else this.#open(key, target);
  }

  send({ type, data, extras }: OutgoingFrame): number {
    const text = encodeFrame(type, { ...extras?.body, ...data });
    this.#write(text);
    return text.length;
  }

  sendBinary(bytes: Uint8Array<ArrayBuffer>): boolean {
    if ((this.#socket?.bufferedAmount ?? 0) > MAX_BUFFERED) return false;
    this.#write(bytes);
    return true;
  }

  ping(): void {
    this.#write(encodeFrame('ping', { timestamp: (this.#options.timers ?? systemTimers).now() }));
  }

  close(code: number): void {
    this.#detach()?.close(code);
  }

  /**
   * Opens the socket with the key that the function returns. A `TypeError` of the function is treated as a lost connection, because `fetch`
   * throws a `TypeError` when there is no network. Any other error is treated as `unauthorized`.
   */
  async #openWith(key: () => string | Promise<string>, target: LinkTarget): Promise<void> {
    try {
      // Call `key` in a later microtask. If it throws now, the link would report `onClose` before `open()` has returned the link to the connection.
      const newest = await Promise.resolve().then(key);
      if (!this.#isClosed) this.#open(newest, target);
    } catch (error) {
      if (error instanceof TypeError) this.#end(LOST, '');
      else this.#end(ERRORS.unauthorized.close, (error as Error).message);
    }
  }

  #open(key: string | undefined, { sessionId, last, sound }: LinkTarget): void {
    const { url: base, WebSocket = globalThis.WebSocket as never, watches } = this.#options;
    if (!WebSocket) throw new Error('This runtime has no WebSocket: pass one with the option "WebSocket".');
    const url = new URL(`${base.replace(/\/$/, '')}/live`, globalThis.location?.href);
    url.protocol = url.protocol.replace('http', 'ws');
    for (const [name, value] of Object.entries({ session: sessionId, last, sound }))
      if (value !== null) url.searchParams.set(name, value);
    const keys = key === undefined ? [] : [KEY_SUBPROTOCOL + base64Url(key)];
    const socket: WebSocketLike = new (WebSocket as NonNullable<WebSocketLinkOptions['WebSocket']>)(
      url.href,
      [...(watches ? [WATCHING_SUBPROTOCOL] : []), SUBPROTOCOL, ...keys],
    );
    socket.binaryType = 'arraybuffer';
    socket.onmessage = ({ data }: { data: unknown }) => this.#receive(data);
    socket.onclose = ({ code, reason }: { code: number; reason: string }) => this.#end(code, reason);
    // Errors need no handling here: the browser calls `onclose` after every error.
    socket.onerror = () => undefined;
    this.#socket = socket;
  }

  #receive(data: unknown): void {
    const { onFrame } = this.#options;
    if (typeof data === 'string') {
      onFrame?.('in', data);
      this.#events.onChunks(data.startsWith('{') ? SIGN_OF_LIFE : this.#decoder.push(data));
      return;
    }
    const bytes = new Uint8Array(data as ArrayBuffer);
    onFrame?.('in', bytes);
    const frame = decodeBinary(bytes);
    if (frame) this.#events.onBinary(frame);
    else this.#events.onChunks([]);
  }

  #write(data: string | Uint8Array<ArrayBuffer>): void {
    this.#options.onFrame?.('out', data);
    this.#socket?.send(data);
  }

  #end(code: number, reason: string): void {
    if (this.#isClosed) return;
    this.#detach();
    this.#events.onClose(code, reason);
  }

  #detach(): WebSocketLike | null {
    const socket = this.#socket;
    this.#isClosed = true;
    this.#socket = null;
    if (socket) {
      socket.onmessage = null;
      socket.onclose = null;
    }
    return socket;
  }
}

function base64Url(text: string): string {
  const binary = String.fromCharCode(...new TextEncoder().encode(text));
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
