import type { Chunk, SessionInfo } from '../protocol/chunks.ts';
import { type BinaryFrame, BlockDecoder, decodeBinary, parseChunkId } from '../protocol/codec.ts';

/** What a connection hears. */
export type ConnectionEvent =
  | { type: 'session'; session: SessionInfo }
  /** `isReplay`: it was said before this connection began. */
  | { type: 'chunk'; chunk: Chunk; isReplay?: true }
  | { type: 'done' }
  /** All of a frame has been told. */
  | { type: 'frame-end' }
  | { type: 'binary'; frame: BinaryFrame }
  /** The server closed because of what was sent: these frames are not sent again. */
  | { type: 'refused'; code: number; reason: string };

/** Reads the frames of a server: `push` returns what they say. Knows how far it has read, over all sockets. */
export class Incoming {
  /** The id of the last chunk: a new socket goes on behind it. */
  last: string | null = null;
  #decoder = new BlockDecoder();
  #replayedTo = 0;
  /** The place of what was read last; the end of a turn has one, too. */
  #seq = 0;
  /** Where the connection goes on once it has its reset. */
  #afterReset: string | null = null;

  /** Whether all is read that was said before this connection began. */
  get isPresent(): boolean {
    return this.#seq >= this.#replayedTo;
  }

  /** A new socket begins; what the old one left unfinished is dropped. */
  begin(): void {
    this.#decoder = new BlockDecoder();
  }

  /** What is none of the protocol's is passed over, and so is the answer to a ping: that it came is enough. */
  push(frame: string | Uint8Array): ConnectionEvent[] {
    if (typeof frame !== 'string') {
      const binary = decodeBinary(frame);
      return binary ? [{ type: 'binary', frame: binary }] : [];
    }
    if (frame.startsWith('{')) return [];
    const events = this.#decoder.push(frame).flatMap(({ data, id }) => {
      const isDone = data === '[DONE]';
      const seq = parseChunkId(id ?? '')?.seq;
      this.#seq = seq ?? this.#seq + Number(isDone);
      const event = isDone ? { type: 'done' as const } : this.#read(data, seq);
      if (event) this.#advance(event, id);
      return event ?? [];
    });
    return [...events, { type: 'frame-end' }];
  }

  /** A connection that could not go on begins with a reset: one that breaks before it still needs it. */
  #advance(event: ConnectionEvent, id: string | undefined): void {
    if (event.type === 'session' && !event.session.resumed && this.last !== null)
      this.#afterReset = id ?? null;
    else if (event.type === 'chunk' && event.chunk.type === 'data-reset') this.last = this.#afterReset;
    else if (id) this.last = id;
  }

  #read(text: string, seq = Number.NaN): ConnectionEvent | null {
    const chunk = readJson(text) as Chunk | null;
    if (typeof chunk?.type !== 'string') return null;
    if (chunk.type !== 'data-session') {
      return { type: 'chunk', chunk, ...(seq <= this.#replayedTo ? { isReplay: true } : {}) };
    }
    const session = chunk.data;
    // What follows a chunk that is known is new here, whenever it was said.
    this.#replayedTo = session.resumed ? 0 : (parseChunkId(session.newest)?.seq ?? 0);
    return { type: 'session', session };
  }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
