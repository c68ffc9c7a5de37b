import type { IncomingMessage } from 'node:http';
import { noteAddress } from '../access/client-address.ts';
import { ARRIVING, type Arriving } from '../http/body.ts';

/**
 * A web request whose body is read from Node's. The web's own stream of it is made for whoever asks for it, an application that checks
 * signatures for example: it costs more than all the rest of a request.
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

  /** Not in every Node. */
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

/** Node's request as a web request; null when it is not one. */
export function toRequest(request: IncomingMessage): Request | null {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined || name.startsWith(':')) continue;
    for (const one of Array.isArray(value) ? value : [value]) headers.append(name, one);
  }
  const isEncrypted = 'encrypted' in request.socket && request.socket.encrypted === true;
  // What a proxy says is believed: it decides only how addresses in the answer are written, and whether a cookie is for TLS alone.
  const isForwarded = /^https\b/i.test(headers.get('x-forwarded-proto') ?? '');
  const hasBody = request.method !== 'GET' && request.method !== 'HEAD';
  try {
    // Express cuts the mount path off `url`; the server knows its own base path.
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

/** Whether a framework read the body already, and left it on the request. */
function isRead(request: IncomingMessage & { body?: unknown }): boolean {
  return request.body !== undefined && request.body !== null;
}

/** The body as it comes, or as it was read. */
function bodyOf(request: IncomingMessage): BodyInit {
  if (!isRead(request)) return request as unknown as BodyInit;
  const { body } = request as { body?: unknown };
  if (typeof body === 'string' || body instanceof Uint8Array) return body as BodyInit;
  return JSON.stringify(body);
}
