import { type Block, parseChunkId } from '../protocol/codec.ts';
import { readBlocks } from './read-blocks.ts';

/** What the tab that reads the stream tells the others: blocks, and the chunk that they stand behind. What they tell it: that they are there. */
interface Told {
  after: string | null;
  blocks: Block[];
}

/** Where a stream is read from, and who hears it. */
export interface StreamOptions {
  /** Asks for what stands behind a chunk. */
  open: (last: string | null) => Promise<Response>;
  hear: (blocks: Block[]) => void;
  signal: AbortSignal;
}

/**
 * One stream for all tabs of a browser that watch the same session, for a browser allows six connections to a server. The tab that has
 * the lock reads it and tells the others; when it goes, the next goes on behind the last chunk that it heard. A tab that comes, or that
 * has missed something, reads up to the present by itself. Resolves when the stream that this tab read has ended.
 */
export class SharedStream {
  readonly #channel: BroadcastChannel;
  readonly #options: StreamOptions;
  #last: string | null;
  #catchingUp: Promise<void> | null = null;
  /** What was told while this tab caught up. */
  #waiting: Told[] = [];
  /** Whether another tab may want to be told: to tell costs as much as to read. */
  #isFollowed = false;

  constructor(name: string, last: string | null, options: StreamOptions) {
    this.#channel = new BroadcastChannel(name);
    this.#options = options;
    this.#last = last;
  }

  async read(): Promise<void> {
    const channel = this.#channel;
    const options = this.#options;
    const { name } = channel;
    const { signal } = options;
    const greet = () => {
      this.#isFollowed = true;
      this.#tell([]);
    };
    channel.onmessage = greet;
    try {
      const isAlone = await navigator.locks.request(name, { ifAvailable: true }, async (lock) => {
        if (lock) await this.#lead();
        return lock !== null;
      });
      if (isAlone || signal.aborted) return;
      await new Promise<void>((resolve, reject) => {
        channel.onmessage = ({ data }: MessageEvent<Told | null>) => data && this.#follow(data, reject);
        channel.postMessage(null);
        this.#catchUp(reject);
        navigator.locks
          .request(name, { signal }, async () => {
            channel.onmessage = greet;
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

  /** Reads the stream for all. What belongs to this tab alone, or has no place, the others do without. */
  async #lead(): Promise<void> {
    await readBlocks(await this.#options.open(this.#last), (blocks) => {
      const after = this.#last;
      this.#take(blocks);
      if (this.#isFollowed) this.#tell(blocks, after);
      return true;
    });
  }

  #tell(blocks: Block[], after = this.#last): void {
    const told = blocks.filter(({ id, data }) => data === '[DONE]' || (id && !isGreeting(data)));
    this.#channel.postMessage({ after, blocks: told } satisfies Told);
  }

  #follow(told: Told, fail: (error: unknown) => void): void {
    if (this.#catchingUp) {
      this.#waiting.push(told);
      return;
    }
    const { after, blocks } = told;
    const last = this.#last;
    if (isBehind(last, after)) return this.#catchUp(fail);
    this.#take(blocks.filter(({ id }) => after === last || (id && isBehind(last, id))));
  }

  #catchUp(fail: (error: unknown) => void): void {
    const reading = async () => {
      await readBlocks(await this.#options.open(this.#last), (blocks, isPresent) => {
        this.#take(blocks);
        return !isPresent;
      });
      this.#catchingUp = null;
      for (const told of this.#waiting.splice(0)) this.#follow(told, fail);
    };
    this.#catchingUp = reading().catch(fail);
  }

  #take(blocks: Block[]): void {
    for (const { id } of blocks) if (id) this.#last = id;
    this.#options.hear(blocks);
  }
}

function isGreeting(data: string): boolean {
  return data.startsWith('{"type":"data-session"');
}

/** Whether one who has all up to a chunk has missed what comes up to another; what stands in another log is always missed. */
function isBehind(last: string | null, other: string | null): boolean {
  const [mine, theirs] = [last, other].map((id) => (id === null ? null : parseChunkId(id)));
  if (!theirs) return false;
  return mine?.epoch !== theirs.epoch || mine.seq < theirs.seq;
}
