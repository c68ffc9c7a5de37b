import { type ClientRequest, type IncomingMessage, request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';
import type { Duplex } from 'node:stream';
import type { NodePlace } from '../store/store.ts';

/** Header of a forwarded request: the address of the node that forwarded it. A node never forwards such a request again. */
export const FORWARDED = 'x-duologue-forwarded';
/** Header of a response: the node has not handled the request, because it does not own the session or is closing. */
export const NOT_HERE = 'x-duologue-not-here';
/** Header of `/health`: the node works, but its store or hub fails at the moment, so other nodes move no session to it. */
export const TROUBLED = 'x-duologue-troubled';

/** Headers that belong to a single connection (hop by hop). They are not forwarded. */
const OF_A_CONNECTION = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
  'expect',
]);
/** How long a connection to another node may take. After this time the node is unreachable. */
const CONNECT_MS = 2000;
const LATE = 'ELATE';

/** The response of another node to a forwarded request. */
export interface Forwarded {
  status: number;
  headers: Record<string, string>;
  body: IncomingMessage;
}

/** Thrown when no part of a request has reached the other node. */
export class Unreached extends Error {
  override readonly name = 'Unreached';
  /** Whether the port of the node refuses connections, as it does when the process has died. */
  readonly isRefused: boolean;

  constructor(cause: NodeJS.ErrnoException) {
    super(cause.message, { cause });
    this.isRefused = cause.code === 'ECONNREFUSED';
  }
}

/** A request to forward, and the node that gets it. */
export interface Handover {
  request: Request;
  node: NodePlace;
  /** The address of this node. */
  from: string;
  /** Aborts the forwarding, before or during the response. */
  signal: AbortSignal;
}

/** A request that can be forwarded to another node. */
export interface ForwardableRequest {
  request: Request;
  /** Returns the body, which this node has read before it forwards the request, as text; null for a request without a body. */
  body: () => string | null;
  /** Whether the request may be repeated when its outcome is unknown. */
  isRepeatable: () => boolean;
  /** Called when another node answers the request. */
  handedOn: () => void;
}

/** A request without a body, which may be repeated. */
export const withoutBody = (request: Request): ForwardableRequest => ({
  request,
  body: () => null,
  isRepeatable: () => true,
  handedOn: () => undefined,
});

/** Forwards a request; null when the other node does not own the session. An implementation calls `end` when the response is over. */
export type Forwarding<T> = (handover: Handover, end: () => void) => Promise<T | null>;

/**
 * Sends the request to another node. Throws `Unreached` when no part of it arrived, and another error when it is unknown whether the node has handled
 * it.
 */
export function forward(handover: Handover, body: string | null): Promise<Forwarded> {
  const headers = headersFor(handover);
  if (body !== null) headers['content-length'] = String(Buffer.byteLength(body));
  const outgoing = open(handover, headers);
  return new Promise((resolve, reject) => {
    outgoing.once('error', (error) => reject(faultOf(error)));
    outgoing.once('response', (response) => {
      outgoing.on('error', () => undefined);
      // When the other node dies, the response emits an error. The error needs no handling here, because the reader of the response sees that the response
      // closed.
      response.on('error', () => undefined);
      resolve({ status: response.statusCode ?? 502, headers: headersOf(response), body: response });
    });
    outgoing.end(body ?? undefined);
  });
}

/** Sends a request to another node and reads its whole response; null when that node does not own the session. Throws as `forward` does. */
export async function askNode(handover: Handover, body: string): Promise<string | null> {
  const { status, headers, body: answer } = await forward(handover, body);
  if (headers[NOT_HERE] !== undefined) {
    answer.destroy();
    return null;
  }
  const pieces: Buffer[] = [];
  for await (const piece of answer) pieces.push(piece as Buffer);
  const text = Buffer.concat(pieces).toString('utf8');
  if (status === 200) return text;
  throw new Error(`The node answered with ${status}: ${text.slice(0, 200)}`);
}

/** Connects a client's stream, which waits for its WebSocket upgrade, to another node. False when that node does not own the session. Throws like `forward`. */
export function forwardUpgrade(handover: Handover, stream: Duplex, head: Buffer): Promise<boolean> {
  const headers = { ...headersFor(handover), connection: 'Upgrade', upgrade: 'websocket' };
  const outgoing = open(handover, headers);
  return new Promise((resolve, reject) => {
    outgoing.once('error', (error) => reject(faultOf(error)));
    outgoing.once('upgrade', (response, upstream, rest) => {
      outgoing.on('error', () => undefined);
      stream.write(headOf(response));
      if (rest.length > 0) stream.write(rest);
      if (head.length > 0) upstream.write(head);
      join(stream, upstream);
      resolve(true);
    });
    outgoing.once('response', (response) => {
      outgoing.on('error', () => undefined);
      response.on('error', () => undefined);
      if (response.headers[NOT_HERE] !== undefined) {
        response.resume();
        resolve(false);
        return;
      }
      stream.write(headOf(response));
      response.pipe(stream);
      resolve(true);
    });
    stream.once('close', () => outgoing.destroy());
    outgoing.end();
  });
}

/** Resolves when a node answers a request, with any status. */
export function reach(node: NodePlace): Promise<void> {
  const request = new Request(new URL('/health', node.address), { method: 'HEAD' });
  const outgoing = open({ request, node, signal: AbortSignal.timeout(CONNECT_MS) }, {});
  return new Promise((resolve, reject) => {
    outgoing.once('error', reject);
    outgoing.once('response', (response) => {
      response.resume();
      resolve();
    });
    outgoing.end();
  });
}

/** Whether another node reports that it can use its store and hub. Never rejects. */
export function isFit(node: NodePlace, basePath: string): Promise<boolean> {
  const request = new Request(new URL(`${basePath}/health`, node.address));
  const outgoing = open({ request, node, signal: AbortSignal.timeout(CONNECT_MS) }, {});
  return new Promise((resolve) => {
    outgoing.once('error', () => resolve(false));
    outgoing.once('response', (response) => {
      response.resume();
      resolve(response.statusCode === 200 && response.headers[TROUBLED] === undefined);
    });
    outgoing.end();
  });
}

/** Copies data in both directions until one stream ends. */
function join(one: Duplex, other: Duplex): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on('error', () => from.destroy());
    from.once('close', () => to.destroy());
    from.pipe(to);
  }
}

function open(
  { request, node, signal }: Omit<Handover, 'from'>,
  headers: Record<string, string>,
): ClientRequest {
  const { pathname, search, protocol } = new URL(request.url);
  const to = new URL(pathname + search, node.address);
  // The other node writes URLs into its response: tell it the scheme that the client used.
  if (protocol === 'https:') headers['x-forwarded-proto'] = 'https';
  const ask = to.protocol === 'https:' ? overHttps : overHttp;
  // Open a new connection for each request. A kept connection could close at the moment of its use, and the outcome of the request would be unknown.
  const outgoing = ask(to, { method: request.method, headers, agent: false, signal });
  const late = setTimeout(
    () =>
      outgoing.destroy(
        Object.assign(new Error(`The node accepted no connection within ${CONNECT_MS} ms.`), { code: LATE }),
      ),
    CONNECT_MS,
  );
  outgoing.once('socket', (socket) => socket.once('connect', () => clearTimeout(late)));
  outgoing.once('close', () => clearTimeout(late));
  return outgoing;
}

/** The error of a failed request: `Unreached` when it did not arrive, otherwise the error itself. */
function faultOf(error: NodeJS.ErrnoException): Error {
  const isUnreached = error.syscall === 'connect' || error.syscall === 'getaddrinfo' || error.code === LATE;
  return isUnreached ? new Unreached(error) : error;
}

function headersFor({ request, from }: Handover): Record<string, string> {
  const headers: Record<string, string> = { [FORWARDED]: from };
  request.headers.forEach((value, name) => {
    if (!OF_A_CONNECTION.has(name) && name !== 'content-length') headers[name] = value;
  });
  headers.host ??= new URL(request.url).host;
  return headers;
}

function headersOf(response: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    if (value !== undefined && !OF_A_CONNECTION.has(name)) headers[name] = [value].flat().join(', ');
  }
  return headers;
}

/** The status line and the headers of a response, unchanged. */
function headOf({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    lines.push(`${rawHeaders[index]}: ${rawHeaders[index + 1]}`);
  }
  return `${lines.join('\r\n')}\r\n\r\n`;
}
