import type { WebSocketLike } from 'duologue/client';
import type { WireEvent } from '../wire/wire-event.ts';

interface Exchange {
  answer: (response: Response) => void;
  fail: (error: Error) => void;
  body: ReadableStreamDefaultController<Uint8Array> | null;
}

/**
 * Stands where the server was: requests and sockets of the page are matched, in order, with those of a recording, and
 * hear what those heard, when the player says so.
 */
export class RecordedServer {
  private readonly requests: (Extract<WireEvent, { type: 'request' }> & { isTaken?: true })[];
  private readonly sockets: number[];
  private readonly exchanges = new Map<number, Exchange>();
  private readonly open = new Map<number, ReplaySocket>();
  private readonly encoder = new TextEncoder();
  private readonly onBound: () => void;

  constructor(events: readonly WireEvent[], onBound: () => void) {
    this.onBound = onBound;
    this.requests = events.filter((event) => event.type === 'request').map((event) => ({ ...event }));
    this.sockets = events.filter((event) => event.type === 'open').map(({ channel }) => channel);
  }

  /** Whether the page has made the request, or opened the socket, that a channel of the recording stands for. */
  isBound(channel: number): boolean {
    return this.exchanges.has(channel) || this.open.has(channel);
  }

  readonly fetch: typeof fetch = (input, init) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input, location.href);
    const method = init?.method ?? 'GET';
    const found = this.requests.find(
      (request) => !request.isTaken && request.method === method && request.path.split('?')[0] === pathname,
    );
    if (!found) return Promise.resolve(unrecorded(method));
    found.isTaken = true;
    return new Promise<Response>((answer, fail) => {
      this.exchanges.set(found.channel, { answer, fail, body: null });
      init?.signal?.addEventListener('abort', () => fail(new DOMException('Aborted', 'AbortError')));
      this.onBound();
    });
  };

  /** The class of sockets of the page. */
  readonly WebSocket = this.socketClass();

  /** Lets the page hear what came. */
  deliver(event: WireEvent): void {
    const { channel } = event;
    if (event.type === 'response') return this.respond(channel, event.status, event.contentType);
    if (event.type === 'text' && event.direction === 'in') {
      this.exchanges.get(channel)?.body?.enqueue(this.encoder.encode(event.text));
      // A pong answers a ping of that time; the pings of today are answered on the spot.
      if (!event.text.startsWith('{')) this.open.get(channel)?.hear(event.text);
    }
    if (event.type === 'close' && event.direction === 'in') this.end(channel, event.code, event.reason);
  }

  private respond(channel: number, status: number, contentType: string): void {
    const exchange = this.exchanges.get(channel);
    if (!exchange) return;
    const headers = { 'content-type': contentType };
    const hasNoBody = status === 204 || status === 304;
    const body = hasNoBody
      ? null
      : new ReadableStream<Uint8Array<ArrayBuffer>>({
          start: (controller) => {
            exchange.body = controller;
          },
          cancel: () => {
            exchange.body = null;
          },
        });
    exchange.answer(new Response(body, { status, headers }));
  }

  private end(channel: number, code: number | null, reason: string): void {
    const exchange = this.exchanges.get(channel);
    const { body } = exchange ?? {};
    if (exchange) exchange.body = null;
    if (reason === '') body?.close();
    else body?.error(new TypeError(reason));
    exchange?.fail(new TypeError(reason));
    this.open.get(channel)?.end(code ?? 1006, reason);
  }

  private socketClass() {
    const server = this;
    return class extends ReplaySocket {
      constructor() {
        super();
        const channel = server.sockets.shift();
        if (channel === undefined) return;
        server.open.set(channel, this);
        server.onBound();
      }
    };
  }
}

/** A socket that hears what a recorded one heard. */
class ReplaySocket implements WebSocketLike {
  binaryType = 'blob';
  readonly bufferedAmount = 0;
  onopen: WebSocketLike['onopen'] = null;
  onmessage: WebSocketLike['onmessage'] = null;
  onclose: WebSocketLike['onclose'] = null;
  onerror: WebSocketLike['onerror'] = null;

  send(data: string | Uint8Array<ArrayBuffer>): void {
    if (typeof data !== 'string') return;
    const frame = JSON.parse(data) as { type: string; data?: { timestamp?: unknown } };
    if (frame.type !== 'ping') return;
    const pong = JSON.stringify({ type: 'pong', timestamp: frame.data?.timestamp });
    queueMicrotask(() => this.hear(pong));
  }

  close(): void {
    this.onmessage = null;
    this.onclose = null;
  }

  hear(data: string): void {
    this.onmessage?.({ data } as never);
  }

  end(code: number, reason: string): void {
    this.onclose?.({ code, reason } as never);
  }
}

/** What nobody asked for when it was recorded. */
function unrecorded(method: string): Response {
  return method === 'GET' ? new Response(null, { status: 204 }) : Response.json({});
}
