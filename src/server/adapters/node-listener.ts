import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { noteAddress } from '../access/client-address.ts';
import type { Duologue } from '../duologue.ts';
import { NO_SNIFFING, type Reply, ResponseReader } from '../http/reply.ts';
import { ARRIVING, type Arriving } from '../http/route.ts';
import { NOT_FOUND } from './upgrade.ts';

/**
 * A web request whose body the server reads from Node's stream. The web stream of the body costs more than the rest of a request, so it is created only when
 * other code reads the body, such as an `authenticate` that checks a signature.
 */
class NodeRequest extends Request implements Arriving {
  readonly #init: RequestInit;
  readonly #request: IncomingMessage;
  #whole: Request | null = null;

  constructor(url: URL, init: RequestInit, request: IncomingMessage) {
    super(url, init);
    this.#init = init;
    this.#request = request;
  }

  get [ARRIVING](): IncomingMessage | null {
    return this.#whole || isRead(this.#request) ? null : this.#request;
  }

  get #made(): Request {
    this.#whole ??= new Request(this.url, {
      ...this.#init,
      body: bodyOf(this.#request),
      duplex: 'half',
    } as RequestInit);
    return this.#whole;
  }

  override get body() {
    return this.#made.body;
  }

  override get bodyUsed() {
    return this.#whole?.bodyUsed ?? false;
  }

  override arrayBuffer() {
    return this.#made.arrayBuffer();
  }

  override blob() {
    return this.#made.blob();
  }

  /** Throws a `TypeError` in a version of Node whose `Request` has no `bytes`. */
  override bytes() {
    return this.#made.bytes();
  }

  override formData() {
    return this.#made.formData();
  }

  override json() {
    return this.#made.json();
  }

  override text() {
    return this.#made.text();
  }

  override clone() {
    return this.#made.clone();
  }
}

/** Converts Node's request to a web request; null when its URL, host or method is not valid in a web request. */
export function toRequest(request: IncomingMessage): Request | null {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined || name.startsWith(':')) continue;
    for (const one of Array.isArray(value) ? value : [value]) headers.append(name, one);
  }
  const isEncrypted = 'encrypted' in request.socket && request.socket.encrypted === true;
  // This header may be forged without harm: it only decides how addresses in the reply are written, and whether a cookie is restricted to TLS.
  const isForwarded = /^https\b/i.test(headers.get('x-forwarded-proto') ?? '');
  const hasBody = request.method !== 'GET' && request.method !== 'HEAD';
  try {
    // Express removes the mount path from `url`. The server expects the whole path, because its option `basePath` has the mount path.
    const { originalUrl = request.url ?? '/' } = request as { originalUrl?: string };
    const url = new URL(
      originalUrl,
      `http${isEncrypted || isForwarded ? 's' : ''}://${request.headers.host ?? 'localhost'}`,
    );
    const init = { method: request.method ?? 'GET', headers };
    const web = hasBody ? new NodeRequest(url, init, request) : new Request(url, init);
    noteAddress(web, request.socket.remoteAddress);
    return web;
  } catch {
    return null;
  }
}

/** Whether a framework has read the body and stored it as `request.body`. */
function isRead(request: IncomingMessage & { body?: unknown }): boolean {
  return request.body !== undefined && request.body !== null;
}

/** The body as a stream, or, if a framework has read it, as its text or bytes. */
function bodyOf(request: IncomingMessage): BodyInit {
  if (!isRead(request)) return request as unknown as BodyInit;
  const { body } = request as { body?: unknown };
  if (typeof body === 'string' || body instanceof Uint8Array) return body as BodyInit;
  return JSON.stringify(body);
}

/** Answers a request of Node's server. */
export type NodeListener = (request: IncomingMessage, response: ServerResponse) => void;

/** Handles requests of Node's server. Requests for other paths go to `fallback`, or get 404. */
export function nodeListener(duologue: Pick<Duologue, 'handle'>, fallback?: NodeListener): NodeListener {
  return (request, response) => {
    // Without a listener for `error`, a broken connection would end the process. The code that reads the body or writes the reply reacts to `close` events.
    request.on('error', () => undefined);
    response.on('error', () => response.destroy());
    const web = toRequest(request);
    if (!web) {
      response.writeHead(400, NO_SNIFFING).end();
      return;
    }
    duologue
      .handle(web)
      .then((reply) => {
        if (reply) return write(reply, request, response);
        if (fallback) return fallback(request, response);
        response.writeHead(404, { 'content-type': 'application/json', ...NO_SNIFFING });
        response.end(NOT_FOUND);
      })
      .catch(() => response.destroy());
  };
}

async function write(reply: Reply, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { body } = reply;
  if (response.destroyed) {
    // The client disconnected before the reply was ready.
    if (body instanceof ResponseReader) body.close();
    if (body instanceof Readable) body.destroy();
    return;
  }
  response.writeHead(reply.status, reply.headers);
  if (body instanceof Readable) return pass(body, response);
  if (!(body instanceof ResponseReader)) {
    response.end(body ?? undefined);
    // A refused upload is not read to its end, so the connection cannot be used again.
    if (!request.complete) response.once('finish', () => request.destroy());
    return;
  }
  response.once('close', () => body.close());
  body.onDrop = () => response.destroy();
  for (let isFirst = true; !body.isOver; isFirst = false) {
    const text = body.read();
    // Send the headers with the first text, or alone when there is no text yet.
    if (text === '' && isFirst) response.flushHeaders();
    if (text === '') await body.more();
    else if (!response.write(text)) await drained(response);
    if (response.destroyed) return;
  }
  if (!body.isDropped) response.end();
}

/** Streams the reply of another node to the client, until either side ends. */
function pass(body: Readable, response: ServerResponse): void {
  response.flushHeaders();
  response.once('close', () => body.destroy());
  body.once('close', () => {
    if (!body.readableEnded) response.destroy();
  });
  body.pipe(response);
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      response.off('drain', settle);
      response.off('close', settle);
      resolve();
    };
    response.once('drain', settle);
    response.once('close', settle);
  });
}
