import type { Chunk, SessionInfo } from '../../protocol/chunks.ts';
import { type BinaryFrame, parseChunkId } from '../../protocol/codec.ts';
import type { ReceivedChunk } from './link.ts';

/** The events that a connection reports to its listeners. */
export type ConnectionEvent =
  /** The server's first chunk on a new link. */
  | { type: 'session'; session: SessionInfo }
  /** `isReplay`: the chunk is older than the link, so the page may have it already, for example in a message that it loaded over HTTP. */
  | { type: 'chunk'; chunk: Chunk; isReplay?: true }
  /** A turn of the agent ended. */
  | { type: 'done' }
  /** All chunks of a frame have been reported. */
  | { type: 'frame-end' }
  /** Sound of the agent. */
  | { type: 'binary'; frame: BinaryFrame }
  /**
   * The server closed the connection because of an invalid or too large request. The client does not know which one that was, so no unanswered request
   * is sent again.
   */
  | { type: 'refused'; code: number; reason: string };

/** Tracks how much of a conversation has been received over all links: where the next link continues, and which chunks are replays. */
export class StreamPosition {
  #last: string | null = null;
  /** Chunks up to this position are replays: they are older than the newest link. 0 on a link that resumed. */
  #replayedTo = 0;
  /** The position of the last chunk. The end of a turn (`[DONE]`) has no id, but takes a position in the log, too (C5a). */
  #seq = 0;
  /** The chunk id after which the next link continues, once the reset has arrived. */
  #afterReset: string | null = null;

  /** The id after which a new link continues: that of the last chunk, or an id that no chunk has, to ask for a reset; null before the first link. */
  get last(): string | null {
    return this.#last;
  }

  /** Whether all replays on the newest link have been received. Always true on a link that resumed after the last chunk of this page. */
  get isCaughtUp(): boolean {
    return this.#seq >= this.#replayedTo;
  }

  /** Sets the id of the chunk after which the next link continues; null when the page has no chunk yet. */
  moveTo(last: string | null): void {
    this.#last = last;
  }

  /** Records a chunk, and returns the event for the listeners. */
  advance({ chunk, id }: ReceivedChunk): ConnectionEvent {
    const seq = parseChunkId(id ?? '')?.seq;
    this.#seq = seq ?? this.#seq + Number(chunk === null);
    if (chunk?.type === 'data-session') return this.#startWith(chunk.data, id);
    if (chunk?.type === 'data-reset') this.#last = this.#afterReset;
    else if (id) this.#last = id;
    if (chunk === null) return { type: 'done' };
    return seq !== undefined && seq <= this.#replayedTo
      ? { type: 'chunk', chunk, isReplay: true }
      : { type: 'chunk', chunk };
  }

  #startWith(session: SessionInfo, id: string | undefined): ConnectionEvent {
    // If the server resumes after the last chunk of this page, all chunks that follow are new to the page. None of them is a replay, even if it is
    // older than this link.
    this.#replayedTo = session.resumed ? 0 : (parseChunkId(session.newest)?.seq ?? 0);
    // A server that cannot continue after `#last` sends a reset. If this link closes before the reset arrives, the next link must get a reset, too. So
    // `#last` changes only when the reset has arrived.
    if (!session.resumed && this.#last !== null) this.#afterReset = id ?? null;
    else if (id) this.#last = id;
    return { type: 'session', session };
  }
}
