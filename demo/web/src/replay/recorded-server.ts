import type { WebSocketLike } from 'duologue/client';
import type { WireEvent } from '../wire/wire-event.ts';
import { type Asked, askedIn, frameOf, startAfter } from './asked.ts';

interface Exchange {
  answer: (response: Response) => void;
  fail: (error: Error) => void;
  body: ReadableStreamDefaultController<Uint8Array> | null;
}

/**
 * Replaces the server: it matches requests and sockets of the page, in order, with those of a recording, and
 * delivers the recorded data when the player says so.
 */
export class RecordedServer {
  private readonly requests: (Extract<WireEvent, { type: 'request' }> & { isTaken?: true })[];
  private readonly sockets: number[];
  private readonly exchanges = new Map<number, Exchange>();
  private readonly open = new Map<number, ReplaySocket>();
  private readonly encoder = new TextEncoder();
  /** The requests over the sockets of the recording, in order. */
  private readonly asked: Asked[];
  /** The request ids of the recording, with the ids of the same requests in this replay. */
  private readonly names = new Map<string, string>();
  /** The id of the message that answered each HTTP request, by channel; undefined when the recording has none. */
  private readonly answers: ReadonlyMap<number, string | undefined>;
  /** The watch stream of this page, if the recording has none. It gets the chunks of the channels in `posted`, which the recorded page read in responses. */
  private watching: ReadableStreamDefaultController<Uint8Array> | null = null;
  private readonly posted = new Set<number>();
  private kept = '';
  private readonly onBound: () => void;

  constructor(events: readonly WireEvent[], onBound: () => void) {
    this.onBound = onBound;
    this.asked = askedIn(events);
    this.answers = new Map(
      events.flatMap((event, at) =>
        event.type === 'request' ? [[event.channel, startAfter(events, at, event.channel)] as const] : [],
      ),
    );
    this.requests = events.filter((event) => event.type === 'request').map((event) => ({ ...event }));
    this.sockets = events.filter((event) => event.type === 'open').map(({ channel }) => channel);
  }

  /** Whether the page has made the request, or opened the socket, that corresponds to a channel of the recording. */
  isBound(channel: number): boolean {
    return this.exchanges.has(channel) || this.open.has(channel);
  }

  /** Whether the page has sent the request of a recorded event; true for an event that is no request over a socket. */
  hasAsked(event: WireEvent): boolean {
    return this.asked.every((one) => one.event !== event || one.isTaken);
  }

  readonly fetch: typeof fetch = (input, init) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input, location.href);
    const method = init?.method ?? 'GET';
    const calls = callsIn(init?.body);
    const isThat = (request: { body: string | null }) => {
      const answered = callsIn(request.body);
      return calls.length === 0 ? answered.length === 0 : answered.some((call) => calls.includes(call));
    };
    const found = this.requests.find(
      (request) =>
        !request.isTaken &&
        // In older recordings the page requested its watch stream with GET.
        (request.method === method || pathname.endsWith('/watch')) &&
        request.path.split('?')[0] === pathname &&
        isThat(request),
    );
    const [, watched] = /\/sessions\/([^/]+)\/watch$/.exec(pathname) ?? [];
    if (!found && watched) return Promise.resolve(this.watch(decodeURIComponent(watched)));
    if (!found && calls.length > 0) return Promise.resolve(this.acceptMore(nameIn(init?.body)));
    if (!found) return Promise.resolve(unrecorded(method));
    found.isTaken = true;
    this.rename(nameIn(found.body), nameIn(init?.body));
    this.accept(found, nameIn(init?.body));
    return new Promise<Response>((answer, fail) => {
      this.exchanges.set(found.channel, { answer, fail, body: null });
      init?.signal?.addEventListener('abort', () => fail(new DOMException('Aborted', 'AbortError')));
      this.onBound();
    });
  };

  /** The `WebSocket` class that the page uses. */
  readonly WebSocket = this.socketClass();

  /** Delivers recorded data to the page. */
  deliver(event: WireEvent): void {
    const { channel } = event;
    if (event.type === 'response') return this.respond(channel, event.status, event.contentType);
    if (event.type === 'text' && event.direction === 'in') {
      const text = this.renamed(event.text);
      this.exchanges.get(channel)?.body?.enqueue(this.encoder.encode(text));
      if (this.posted.has(channel)) this.pass(text);
      // Recorded pongs are left out: `ReplaySocket` answers the pings of this page.
      if (!text.startsWith('{')) this.open.get(channel)?.hear(text);
    }
    if (event.type === 'close' && event.direction === 'in') this.end(channel, event.code, event.reason);
  }

  /** Handles a request of the page: matches it with a recorded request, and maps the ids of the two. */
  private hear(channel: number, text: string): void {
    const { type, data } = frameOf(text);
    const requestId = (data as { requestId?: string }).requestId;
    const found = this.asked.find(
      (one) => !one.isTaken && one.event.channel === channel && one.type === type,
    );
    if (!found) return;
    found.isTaken = true;
    if (found.requestId !== undefined) this.rename(found.requestId, requestId);
    else if (requestId !== undefined) {
      // The recorded client sent no request ids, but this page waits for the acknowledgement of its own.
      const accepted = { requestId, ...(found.answer === undefined ? {} : { messageId: found.answer }) };
      this.open.get(channel)?.hear(blockOf('data-accepted', accepted));
    }
    this.onBound();
  }

  /** Opens a watch stream for a recording without one: the recorded page read the responses to its posts, and this page gets them all in one stream. */
  private watch(sessionId: string): Response {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.watching = controller;
      },
      cancel: () => {
        this.watching = null;
      },
    });
    const epoch = 'recording';
    const state = { received: [], open: [], running: null, floor: null };
    const session = {
      sessionId,
      connectionId: epoch,
      epoch,
      resumed: true,
      newest: `${epoch}-0`,
      ...state,
    };
    this.tellWatching(blockOf('data-session', session));
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  }

  /** Acknowledges a post in the watch stream, where the page also gets the response to it. */
  private accept({ channel, path }: { channel: number; path: string }, requestId: string | undefined): void {
    if (!this.watching || requestId === undefined || !path.endsWith('/stream')) return;
    this.posted.add(channel);
    const answer = this.answers.get(channel);
    this.tellWatching(blockOf('data-accepted', { requestId, ...(answer && { messageId: answer }) }));
  }

  /** Accepts a post that the recording lacks: the recorded page sent several answers in one post, and the response to the first of them has all outcomes. */
  private acceptMore(requestId: string | undefined): Response {
    if (requestId !== undefined) this.tellWatching(blockOf('data-accepted', { requestId }));
    return new Response('data: [DONE]\n\n', { headers: { 'content-type': 'text/event-stream' } });
  }

  /** Passes text to the watch stream. An approval request is passed together with the `[DONE]` after it, so that the page cannot answer in between. */
  private pass(text: string): void {
    this.kept += text;
    if (this.kept.includes('"tool-approval-request"') && !this.kept.includes('[DONE]')) return;
    this.tellWatching(this.kept);
    this.kept = '';
  }

  private tellWatching(text: string): void {
    this.watching?.enqueue(this.encoder.encode(text));
  }

  private rename(then: string | undefined, today: string | undefined): void {
    if (then !== undefined && today !== undefined) this.names.set(then, today);
  }

  private renamed(text: string): string {
    let all = text;
    for (const [then, today] of this.names) all = all.replaceAll(then, today);
    // Older servers sent fewer fields in `data-session`.
    const isOld = all.includes('"type":"data-session"') && !all.includes('"received":');
    return isOld ? all.replace('"data":{', '"data":{"received":[],"open":[],"running":null,') : all;
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
        this.onSent = (text) => server.hear(channel, text);
        server.onBound();
      }
    };
  }
}

/** A socket that receives the data of a recorded one. */
class ReplaySocket implements WebSocketLike {
  binaryType = 'blob';
  readonly bufferedAmount = 0;
  onmessage: WebSocketLike['onmessage'] = null;
  onclose: WebSocketLike['onclose'] = null;
  onerror: WebSocketLike['onerror'] = null;
  onSent: ((text: string) => void) | null = null;

  send(data: string | Uint8Array<ArrayBuffer>): void {
    if (typeof data !== 'string') return;
    const frame = JSON.parse(data) as { type: string; data?: { timestamp?: unknown } };
    queueMicrotask(() => this.onSent?.(data));
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

function nameIn(body: unknown): string | undefined {
  if (typeof body !== 'string') return undefined;
  const { requestId } = frameOf(body).data as { requestId?: unknown };
  return typeof requestId === 'string' ? requestId : undefined;
}

/** The calls that a post answers. */
function callsIn(body: unknown): string[] {
  if (typeof body !== 'string') return [];
  const { messages } = frameOf(body).data as {
    messages?: { role: string; parts?: { toolCallId?: string }[] }[];
  };
  const last = messages?.at(-1);
  if (last?.role !== 'assistant') return [];
  return (last.parts ?? []).flatMap(({ toolCallId }) => toolCallId ?? []);
}

function blockOf(type: string, data: object): string {
  return `data: ${JSON.stringify({ type, data, transient: true })}\n\n`;
}

/** The response to a request that is not in the recording. */
function unrecorded(method: string): Response {
  return method === 'GET' ? new Response(null, { status: 204 }) : Response.json({});
}
