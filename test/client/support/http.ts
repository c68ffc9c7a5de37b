import { type Chunk, DONE, encodeBlock, KEEP_ALIVE, type Message } from '../../../src/protocol/index.ts';

/** A request as it came. */
export interface Asked {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Record<string, unknown> | null;
  signal: AbortSignal | null;
}

type Answer = (asked: Asked) => Response | Promise<Response>;
type Body = ReadableStreamDefaultController<Uint8Array>;

/** The HTTP side of a server, without a server: a log of chunks with ids, cut where a test says, and scripted answers. */
export class FakeHttp {
  readonly asked: Asked[] = [];
  /** Breaks the stream after this many chunks. */
  cutAfter = Number.POSITIVE_INFINITY;
  /** The responses to posts, in order. */
  readonly answers: Answer[] = [];
  /** The response to a watch request, in place of the stream. */
  onWatch: Answer | null = null;
  /** The message that is being streamed when a page connects; null for none. */
  running: string | null = null;
  /** Whether watchers receive the answer before the reply that acknowledges the post. */
  isHasty = false;
  private log: (Chunk | null)[] = [];
  private readonly bodies = new Set<Body>();
  private connections = 0;

  readonly fetch: typeof fetch = async (url, init) => {
    const { pathname, search } = new URL(String(url));
    const asked: Asked = {
      method: init?.method ?? 'GET',
      path: pathname + search,
      headers: Object.fromEntries(new Headers(init?.headers)),
      body: typeof init?.body === 'string' ? JSON.parse(init.body) : null,
      signal: init?.signal ?? null,
    };
    this.asked.push(asked);
    if (asked.path.endsWith('/stop')) return Response.json({ stopped: true });
    if (asked.path.endsWith('/floor')) return new Response(null, { status: 204 });
    if (asked.method === 'POST' && !pathname.endsWith('/watch')) {
      const answer = this.answers.shift();
      if (!answer) throw new Error(`no answer for ${asked.path}`);
      return answer(asked);
    }
    if (this.onWatch) return this.onWatch(asked);
    return this.watch(search, asked.signal);
  };

  /** The posts to /stream. */
  get posts(): Record<string, unknown>[] {
    return this.asked.flatMap(({ method, path, body }) =>
      method === 'POST' && path === '/base/stream' && body ? [body] : [],
    );
  }

  /** The watch requests. */
  get watched(): string[] {
    return this.asked.flatMap(({ path }) => (path.includes('/watch') ? [path] : []));
  }

  /** Answers the next post with these chunks and the end. */
  answer(...chunks: Chunk[]): void {
    this.answers.push(({ body }) => {
      if (this.isHasty) this.say(...chunks, null);
      const start = chunks.find((chunk) => chunk.type === 'start');
      const isUserText = (body?.messages as Message[] | undefined)?.[0]?.role === 'user';
      const messageId = isUserText ? start?.messageId : undefined;
      const data = { requestId: String(body?.requestId), ...(messageId && { messageId }) };
      const accepted = encodeBlock({ type: 'data-accepted', data, transient: true });
      if (!this.isHasty) setImmediate(() => this.say(...chunks, null));
      return new Response(`${accepted}data: {"type":"start"}\n\n`);
    });
  }

  /** Sends a keep-alive comment on all streams. */
  keepAlive(): void {
    for (const body of this.bodies) body.enqueue(new TextEncoder().encode(KEEP_ALIVE));
  }

  /** Answers the next post with an error. */
  refuse(status: number, error?: object): void {
    this.answers.push(() =>
      error ? Response.json({ error }, { status }) : new Response('oops', { status }),
    );
  }

  /** Sends a chunk to all watchers; null ends a turn. */
  say(...chunks: (Chunk | null)[]): void {
    for (const chunk of chunks) {
      this.log.push(chunk);
      for (const body of this.bodies) this.tell(body, this.log.length);
    }
  }

  private watch(search: string, signal: AbortSignal | null): Response {
    const last = /last=e1-(\d+)/.exec(search)?.[1];
    const from = last === undefined ? (this.running ? 0 : this.log.length) : Number(last);
    const session = {
      sessionId: 'chat-1',
      connectionId: `watcher-${++this.connections}`,
      epoch: 'e1',
      resumed: last !== undefined,
      newest: `e1-${this.log.length}`,
      received: [],
      open: [],
      running: this.running,
      model: { hears: false, sees: false, speaks: false },
      floor: null,
    };
    const stream = new ReadableStream<Uint8Array>({
      start: (body) => {
        this.bodies.add(body);
        signal?.addEventListener('abort', () => this.bodies.delete(body));
        const first: Chunk = { type: 'data-session', data: session, transient: true };
        write(body, encodeBlock(first, `e1-${from}`));
        for (let seq = from + 1; seq <= this.log.length; seq++) this.tell(body, seq);
      },
    });
    return new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
  }

  private tell(body: Body, seq: number): void {
    if (!this.bodies.has(body)) return;
    if (seq > this.cutAfter) {
      this.cutAfter = Number.POSITIVE_INFINITY;
      this.bodies.delete(body);
      body.close();
      return;
    }
    const chunk = this.log[seq - 1];
    write(body, chunk ? encodeBlock(chunk, `e1-${seq}`) : DONE);
  }
}

/** Splits the text at arbitrary places, as a network does. */
function write(body: Body, text: string): void {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += 7) body.enqueue(bytes.slice(at, at + 7));
}
