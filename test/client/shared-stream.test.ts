import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { DuologueSseTransport } from '../../src/client/index.ts';
import { type Chunk, encodeBlock, KEEP_ALIVE, type Message } from '../../src/protocol/index.ts';
import { FakeNetwork, FakeTimers } from './support/time.ts';

/** The server side of `/watch`: a log of chunks, and the streams that read it. */
class WatchServer {
  readonly watched: string[] = [];
  readonly #log: Chunk[] = [];
  readonly #open = new Set<ReadableStreamDefaultController<Uint8Array>>();

  get open(): number {
    return this.#open.size;
  }

  readonly fetch: typeof fetch = async (url, init) => {
    const { pathname, searchParams } = new URL(String(url));
    if (!pathname.endsWith('/watch')) return new Response(null, { status: 404 });
    const last = searchParams.get('last');
    this.watched.push(last ?? 'start');
    const from = last === null ? this.#log.length : Number(last.slice('e1-'.length));
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#open.add(controller);
        init?.signal?.addEventListener('abort', () => {
          if (this.#open.delete(controller)) controller.error(new DOMException('aborted', 'AbortError'));
        });
        // The keys in another order than the server of today has them: nothing promises one.
        const session = JSON.stringify({ transient: true, data: this.#session(last), type: 'data-session' });
        this.#write(controller, `id: e1-${from}\ndata: ${session}\n\n`);
        for (const [index, chunk] of this.#log.entries())
          if (index >= from) this.#write(controller, encodeBlock(chunk, `e1-${index + 1}`));
        this.#write(controller, KEEP_ALIVE);
      },
    });
    return new Response(body);
  };

  say(...chunks: Chunk[]): void {
    for (const chunk of chunks) {
      this.#log.push(chunk);
      for (const controller of this.#open) {
        try {
          this.#write(controller, encodeBlock(chunk, `e1-${this.#log.length}`));
        } catch {
          // The tab cancelled its stream.
          this.#open.delete(controller);
        }
      }
    }
  }

  #session(last: string | null): object {
    return {
      sessionId: 's',
      connectionId: `watcher-${this.watched.length}`,
      epoch: 'e1',
      resumed: last !== null,
      newest: `e1-${this.#log.length}`,
      received: [],
      open: [],
      running: null,
      model: { hears: false, sees: false, speaks: false },
      floor: null,
    };
  }

  #write(controller: ReadableStreamDefaultController<Uint8Array>, text: string): void {
    controller.enqueue(new TextEncoder().encode(text));
  }
}

/** Web Locks as the specification has them, for exclusive locks. */
class FakeLocks {
  readonly #held = new Map<string, Promise<unknown>>();

  async request(name: string, options: LockOptions, work: (lock: unknown) => unknown): Promise<unknown> {
    if (options.ifAvailable && this.#held.has(name)) return work(null);
    while (this.#held.has(name)) {
      await Promise.race([this.#held.get(name), aborted(options.signal)]);
      options.signal?.throwIfAborted();
    }
    const running = Promise.resolve().then(() => work({ name }));
    const settled = running.catch(() => undefined).then(() => this.#held.delete(name));
    this.#held.set(name, settled);
    return running;
  }
}

function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => signal?.addEventListener('abort', () => resolve()));
}

/** All channels of one browser; a test may let the next messages get lost. */
const posted: unknown[] = [];
let loses = 0;

class FakeChannel {
  static readonly all = new Set<FakeChannel>();
  onmessage: ((event: { data: unknown }) => void) | null = null;

  constructor(readonly name: string) {
    FakeChannel.all.add(this);
  }

  postMessage(data: unknown): void {
    posted.push(data);
    if (loses > 0) {
      loses--;
      return;
    }
    const copy = structuredClone(data);
    for (const other of FakeChannel.all)
      if (other !== this && other.name === this.name)
        queueMicrotask(() => FakeChannel.all.has(other) && other.onmessage?.({ data: copy }));
  }

  close(): void {
    FakeChannel.all.delete(this);
  }
}

const delta = (text: string): Chunk => ({ type: 'text-delta', id: 't', delta: text });

describe('tabs of one browser that watch one session', () => {
  let server: WatchServer;
  let timers: FakeTimers;

  beforeEach(() => {
    server = new WatchServer();
    timers = new FakeTimers();
    posted.length = 0;
    loses = 0;
    FakeChannel.all.clear();
    vi.stubGlobal('document', { baseURI: 'http://localhost:1/' });
    vi.stubGlobal('navigator', { locks: new FakeLocks() });
    vi.stubGlobal('BroadcastChannel', FakeChannel);
  });

  afterEach(() => vi.unstubAllGlobals());

  async function settle(): Promise<void> {
    for (let turn = 0; turn < 5; turn++) await timers.settle(1);
  }

  async function tab(): Promise<{ heard: string[]; transport: DuologueSseTransport<Message> }> {
    const transport = new DuologueSseTransport<Message>({
      url: 'http://localhost:1/base',
      fetch: server.fetch,
      timers,
      network: new FakeNetwork(),
    });
    const heard: string[] = [];
    transport.connection.listen((event) => {
      if (event.type === 'session') heard.push(`session ${event.session.connectionId}`);
      if (event.type === 'chunk' && event.chunk.type === 'text-delta') heard.push(event.chunk.delta);
    });
    transport.connect('s');
    await settle();
    return { heard, transport };
  }

  test('[S20] a tab alone reads one stream, and tells the others nothing of what it reads', async () => {
    const first = await tab();
    server.say(delta('a'));
    await settle();
    expect([first.heard, server.watched, posted]).toEqual([['session watcher-1', 'a'], ['start'], []]);
    first.transport.close();
  });

  test('[S20] one tab reads the stream for all; each has a session of its own', async () => {
    const tabs = [await tab(), await tab(), await tab()];
    server.say(delta('a'));
    await settle();
    server.say(delta('b'));
    await settle();
    expect(tabs.map(({ heard }) => heard)).toEqual([
      ['session watcher-1', 'a', 'b'],
      ['session watcher-2', 'a', 'b'],
      ['session watcher-3', 'a', 'b'],
    ]);
    // Those that followed have cancelled the streams in which they caught up.
    expect([server.watched, server.open]).toEqual([['start', 'start', 'start'], 1]);
    for (const { transport } of tabs) transport.close();
  });

  test('[S20] when the tab that reads goes, the next one continues after the last chunk that it heard', async () => {
    const [first, second] = [await tab(), await tab()];
    server.say(delta('a'));
    await settle();
    first.transport.close();
    await settle();
    server.say(delta('b'));
    await settle();
    expect([second.heard.filter((one) => one.length === 1), server.watched]).toEqual([
      ['a', 'b'],
      ['start', 'start', 'e1-1'],
    ]);
    second.transport.close();
  });

  test('[S20] a tab that missed a chunk reads it by itself, and hears nothing twice', async () => {
    const [first, second] = [await tab(), await tab()];
    server.say(delta('a'));
    await settle();
    loses = 1;
    server.say(delta('b'));
    await settle();
    server.say(delta('c'));
    await settle();
    server.say(delta('d'));
    await settle();
    expect([first, second].map(({ heard }) => heard.filter((one) => one.length === 1).join(''))).toEqual([
      'abcd',
      'abcd',
    ]);
    expect(server.watched).toEqual(['start', 'start', 'e1-1']);
    for (const { transport } of [first, second]) transport.close();
  });

  test('[S20] the session of the tab that reads is its own, whatever the order of the keys in the JSON', async () => {
    const [first, second, third] = [await tab(), await tab(), await tab()];
    first.transport.close();
    await settle();
    server.say(delta('a'));
    await settle();
    expect([second.heard, third.heard]).toEqual([
      ['session watcher-2', 'session watcher-4', 'a'],
      ['session watcher-3', 'a'],
    ]);
    for (const { transport } of [second, third]) transport.close();
  });
});
