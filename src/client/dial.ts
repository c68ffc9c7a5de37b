import { KEY_SUBPROTOCOL, SUBPROTOCOL, WATCHING_SUBPROTOCOL } from '../protocol/codec.ts';

/** A WebSocket as the browser has it. */
export interface WebSocketLike {
  binaryType: string;
  readonly bufferedAmount: number;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code?: number, reason?: string): void;
}

/** A key, or a function that returns the newest one: it is called for every connection and every request. */
export type Key = string | (() => string | Promise<string>);

/** Where the server is, and as what to come. */
export interface DialOptions {
  /** Where the server is mounted: an http(s) or ws(s) address, or a path of this page's host. */
  url: string;
  /** The server's key, for pages that may know it; others log in for a cookie. */
  key?: Key | undefined;
  /** Asks why a WebSocket was refused, in place of the global `fetch`. */
  fetch?: typeof fetch | undefined;
  /** For places without a WebSocket of their own. */
  WebSocket?: (new (url: string, protocols: string[]) => WebSocketLike) | undefined;
  /** Whether the page goes on watching when another has the floor, and shows what that does; else it is closed. */
  watches?: boolean | undefined;
}

/** Opens a WebSocket to a session, behind a chunk. `place`: adds what else the page has already to the address. */
export function dialWebSocket(
  options: DialOptions,
  session: string | null,
  last: string | null,
  key: string | undefined,
  place: (query: URLSearchParams) => void,
): WebSocketLike {
  const Socket = options.WebSocket ?? (globalThis.WebSocket as DialOptions['WebSocket']);
  if (!Socket) throw new Error('There is no WebSocket here.');
  const query = new URLSearchParams();
  if (session !== null) query.set('session', session);
  if (last !== null) query.set('last', last);
  place(query);
  const url = new URL(`${options.url.replace(/\/$/, '')}/live`, globalThis.location?.href);
  url.protocol = url.protocol.replace('http', 'ws');
  url.search = query.toString();
  const keys = key === undefined ? [] : [KEY_SUBPROTOCOL + base64Url(key)];
  const protocols = [...(options.watches ? [WATCHING_SUBPROTOCOL] : []), SUBPROTOCOL, ...keys];
  const socket = new Socket(url.href, protocols);
  socket.binaryType = 'arraybuffer';
  return socket;
}

function base64Url(text: string): string {
  const binary = String.fromCharCode(...new TextEncoder().encode(text));
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
