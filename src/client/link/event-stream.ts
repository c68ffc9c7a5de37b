import { KEEP_ALIVE, parseChunkId } from '../../protocol/codec.ts';
import { ChunkDecoder, type ReceivedChunk } from './link.ts';

/**
 * Reads the chunks of a response until the response ends or `receive` returns false. `isCaughtUp` is true when the server has sent every
 * chunk that it has so far; the server marks this point with a keep-alive comment. A response that breaks off is no error: the promise
 * resolves.
 */
export async function readChunks(
  response: Response,
  receive: (chunks: ReceivedChunk[], isCaughtUp: boolean) => boolean,
): Promise<void> {
  const body = response.body?.getReader();
  const text = new TextDecoder();
  const decoder = new ChunkDecoder();
  for (;;) {
    const piece = await body?.read().catch(() => null);
    if (!piece?.value) return;
    const decoded = text.decode(piece.value, { stream: true });
    if (!receive(decoder.push(decoded), decoded.endsWith(KEEP_ALIVE))) return body?.cancel();
  }
}

/** Requests the chunks of a session over HTTP, and receives them. */
export interface StreamSource {
  /** Requests the chunks after the chunk `last` as an endless SSE response. With null the response begins with the message in progress. */
  open: (last: string | null) => Promise<Response>;
  receive: (chunks: ReceivedChunk[]) => void;
  /** Aborted when the link closes. */
  signal: AbortSignal;
  /** The name under which tabs of this browser share the stream; null when they may not share it. */
  sharedName: string | null;
}

/** Reads the chunks of a session after the chunk `last` from one stream, which tabs may share. Resolves when the stream has ended. */
export async function readStream(source: StreamSource, last: string | null): Promise<void> {
  const { sharedName } = source;
  if (sharedName !== null) return new SharedStream(sharedName, last, source).read();
  await readChunks(await source.open(last), (chunks) => {
    source.receive(chunks);
    return true;
  });
}

/** The message that the tab with the stream sends to the other tabs. `after` is the id of the chunk before `chunks`. */
interface Shared {
  after: string | null;
  chunks: ReceivedChunk[];
}

/**
 * One stream for all tabs of a browser that watch the same session, because a browser opens at most six HTTP/1.1 connections to a
 * server. The tab that holds a Web Lock (the reading tab) reads the stream, and forwards its chunks over a `BroadcastChannel`. When that
 * tab closes, the next tab gets the lock, and continues after the last chunk that it received. A new tab, and a tab that missed a chunk,
 * gets the missing chunks with its own request.
 */
class SharedStream {
  readonly #channel: BroadcastChannel;
  readonly #source: StreamSource;
  #last: string | null;
  #catchingUp: Promise<void> | null = null;
  /** The chunks that the reading tab sent while this tab was catching up. */
  #waiting: Shared[] = [];
  /** Whether another tab may be listening. While no tab is, no chunk is forwarded, because forwarding a chunk takes as long as reading it. */
  #isFollowed = false;

  constructor(name: string, last: string | null, source: StreamSource) {
    this.#channel = new BroadcastChannel(name);
    this.#source = source;
    this.#last = last;
  }

  /** Reads the stream, or follows the tab that does. Resolves when the stream that this tab read has ended. */
  async read(): Promise<void> {
    const channel = this.#channel;
    const { name } = channel;
    const { signal } = this.#source;
    // While this tab reads the stream, other tabs post only when they open. So any message means that another tab is listening.
    const welcome = () => {
      this.#isFollowed = true;
      this.#forward([]);
    };
    channel.onmessage = welcome;
    try {
      const isFirst = await navigator.locks.request(name, { ifAvailable: true }, async (lock) => {
        if (lock) await this.#lead();
        return lock !== null;
      });
      if (isFirst || signal.aborted) return;
      await new Promise<void>((resolve, reject) => {
        channel.onmessage = ({ data }: MessageEvent<Shared | null>) => data && this.#follow(data, reject);
        channel.postMessage(null);
        this.#catchUp(reject);
        navigator.locks
          .request(name, { signal }, async () => {
            channel.onmessage = welcome;
            this.#isFollowed = true;
            await this.#catchingUp;
            await this.#lead();
          })
          .then(resolve, reject);
      });
    } finally {
      channel.close();
    }
  }

  async #lead(): Promise<void> {
    await readChunks(await this.#source.open(this.#last), (chunks) => {
      const after = this.#last;
      this.#receive(chunks);
      if (this.#isFollowed) this.#forward(chunks, after);
      return true;
    });
  }

  /**
   * Sends chunks to the other tabs, except the session info, which belongs to this tab alone, and chunks without an id, which are private replies to
   * this tab.
   */
  #forward(chunks: ReceivedChunk[], after = this.#last): void {
    const shared = chunks.filter(({ id, chunk }) => !chunk || (id && chunk.type !== 'data-session'));
    this.#channel.postMessage({ after, chunks: shared } satisfies Shared);
  }

  #follow(shared: Shared, fail: (error: unknown) => void): void {
    if (this.#catchingUp) {
      this.#waiting.push(shared);
      return;
    }
    const { after, chunks } = shared;
    const last = this.#last;
    if (isMissing(last, after)) return this.#catchUp(fail);
    this.#receive(chunks.filter(({ id }) => after === last || (id && isMissing(last, id))));
  }

  #catchUp(fail: (error: unknown) => void): void {
    const reading = async () => {
      await readChunks(await this.#source.open(this.#last), (chunks, isCaughtUp) => {
        this.#receive(chunks);
        return !isCaughtUp;
      });
      this.#catchingUp = null;
      for (const shared of this.#waiting.splice(0)) this.#follow(shared, fail);
    };
    this.#catchingUp = reading().catch(fail);
  }

  #receive(chunks: ReceivedChunk[]): void {
    for (const { id } of chunks) if (id) this.#last = id;
    this.#source.receive(chunks);
  }
}

/** Whether a tab that has all chunks up to `last` lacks the chunk `other`. It always lacks a chunk of another log (another epoch). */
function isMissing(last: string | null, other: string | null): boolean {
  const [own, theirs] = [last, other].map((id) => (id === null ? null : parseChunkId(id)));
  if (!theirs) return false;
  return own?.epoch !== theirs.epoch || own.seq < theirs.seq;
}
