import { type Chunk, DONE, encodeBlock } from '../../../src/protocol/index.ts';

/** A request as it came. */
export interface Asked {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Record<string, unknown> | null;
  signal: AbortSignal | null;
}

type Answer = (asked: Asked) => Response | Promise<Response>;

/** The HTTP side of a server, without a server: a log of chunks with ids, cut where a test says, and scripted answers. */
export class FakeHttp {
  readonly asked: Asked[] = [];
  epoch = 'e1';
  /** Breaks the next response off after so many blocks. */
  cutAfter = Number.POSITIVE_INFINITY;
  /** What posts are answered with, in order. */
  readonly answers: Answer[] = [];
  /** What a request for the rest is answered with instead. */
  onResume: Answer | null = null;
  private log: (Chunk | null)[] = [];

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
    if (asked.method === 'POST') {
      const answer = this.answers.shift();
      if (!answer) throw new Error(`no answer for ${asked.path}`);
      return answer(asked);
    }
    if (this.onResume) return this.onResume(asked);
    const last = Number(/last=e1-(\d+)/.exec(search)?.[1] ?? 0);
    return this.respond(last);
  };

  /** The posts to /stream. */
  get posts(): Record<string, unknown>[] {
    return this.asked.flatMap(({ method, path, body }) =>
      method === 'POST' && path === '/base/stream' && body ? [body] : [],
    );
  }

  /** Answers the next post with these chunks and the end. */
  answer(...chunks: Chunk[]): void {
    this.answers.push(() => {
      const from = this.log.length;
      this.log.push(...chunks, null);
      return this.respond(from);
    });
  }

  /** Answers the next post with an error. */
  refuse(status: number, error?: object): void {
    this.answers.push(() =>
      error ? Response.json({ error }, { status }) : new Response('oops', { status }),
    );
  }

  private respond(from: number): Response {
    const cutAfter = this.cutAfter;
    this.cutAfter = Number.POSITIVE_INFINITY;
    const blocks = this.log
      .slice(from)
      .map((chunk, index) => (chunk ? encodeBlock(chunk, `${this.epoch}-${from + index + 1}`) : DONE));
    if (blocks.length === 0) return new Response(null, { status: 204 });
    const isCut = blocks.length > cutAfter;
    const bytes = new TextEncoder().encode(blocks.slice(0, cutAfter).join(''));
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        // In odd pieces, as a network would.
        for (let at = 0; at < bytes.length; at += 7) controller.enqueue(bytes.slice(at, at + 7));
        if (!isCut) controller.close();
      },
      pull(controller) {
        if (isCut) controller.error(new TypeError('terminated'));
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  }
}
