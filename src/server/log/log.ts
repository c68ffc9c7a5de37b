import { type Chunk, parseChunkId } from '../../protocol/index.ts';
import type { OwnedKey } from '../store/store.ts';

/** An entry of the log: a chunk, or an end mark, which ends a response. Every entry has a number (`seq`). The id of a chunk contains that number. */
export interface LogEntry {
  seq: number;
  /** Null is an end mark. */
  chunk: Chunk | null;
}

/** The rest of an earlier log: its chunks from the number `first` on, without a gap. */
export interface LogRemains {
  first: number;
  chunks: readonly (Chunk | null)[];
}

/** The part of a log that clients may get: the whole log, or the entries before the first entry that is not released yet. */
export interface ShownLog {
  readonly epoch: string;
  /** The number of the oldest entry that is still in the log. */
  readonly first: number;
  /** The number of the last entry that clients may get; 0 when there is none. */
  readonly last: number;
  /** Whether the log releases text deltas in groups. Then a reader sends each group at once, without waiting for more deltas. */
  readonly isGathered?: boolean;
  /**
   * Whether another process may own the session by now, because the lease of this process may have ended. Until the lease is renewed, clients get
   * nothing new, not even sound.
   */
  readonly isHeld?: boolean;
  /** How many listeners are subscribed. */
  readonly readers: number;
  /** The entry with that number, if it is still in the log and clients may get it. */
  at(seq: number): LogEntry | undefined;
  /** Calls the listener whenever clients may get new entries. The returned function unsubscribes. */
  subscribe(listener: () => void): () => void;
}

/** The largest number of entries of a log. When it is exceeded, the older half is discarded. */
const MAX_ENTRIES = 50_000;
/** The largest number of characters of all entries together. The number of entries alone is no limit, because pictures and long outputs are chunks too. */
const MAX_CHARACTERS = 16 * 1024 * 1024;

/**
 * The chunks of a session, in order, so that a client that lost its connection gets the chunks since then. The log is in memory and bounded: the
 * oldest entries are discarded, and a reader that still needs them gets the stored messages instead.
 */
export class ChunkLog implements ShownLog {
  readonly epoch: string;
  private entries: LogEntry[] = [];
  /** The number of the entry at index 0 of `entries`. */
  private base: number;
  private characters = 0;
  private readonly listeners = new Set<() => void>();

  /** Creates an empty log, or one that continues the rest of an earlier log. */
  constructor(epoch: string, { first, chunks }: LogRemains = { first: 1, chunks: [] }) {
    this.epoch = epoch;
    this.base = first;
    for (const chunk of chunks) this.append(chunk);
  }

  /** The number of the last entry; 0 when there was none. */
  get last(): number {
    return this.base + this.entries.length - 1;
  }

  /** The number of the oldest entry that is still in the log. */
  get first(): number {
    return this.base;
  }

  /** Adds an entry; null is an end mark. Returns the number of the entry. */
  append(chunk: Chunk | null): number {
    const seq = this.last + 1;
    this.entries.push({ seq, chunk });
    this.characters += sizeOf(chunk);
    if (this.entries.length > MAX_ENTRIES) this.drop(this.base + MAX_ENTRIES / 2);
    if (this.characters > MAX_CHARACTERS) this.shrink();
    for (const listener of this.listeners) listener();
    return seq;
  }

  /** The entry with that number, if it is still in the log. */
  at(seq: number): LogEntry | undefined {
    return this.entries[seq - this.base];
  }

  /** The number in a chunk id, if the log has every entry after that chunk; otherwise null. */
  placeOf(chunkId: string): number | null {
    const named = parseChunkId(chunkId);
    if (named?.epoch !== this.epoch || named.seq < this.first - 1 || named.seq > this.last) return null;
    return named.seq;
  }

  /** Discards every entry with a lower number. */
  drop(before: number): void {
    const count = Math.min(Math.max(before - this.base, 0), this.entries.length);
    if (count === 0) return;
    for (let index = 0; index < count; index++) this.characters -= sizeOf(this.entries[index]?.chunk ?? null);
    this.entries = this.entries.slice(count);
    this.base += count;
  }

  /** Discards the oldest entries until the size is at most half of the limit. The last entry stays. */
  private shrink(): void {
    let rest = this.characters;
    let before = this.base;
    while (rest > MAX_CHARACTERS / 2 && before < this.last) {
      rest -= sizeOf(this.at(before)?.chunk ?? null);
      before++;
    }
    this.drop(before);
  }

  /** Calls the listener after every append. The returned function unsubscribes. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** How many listeners are subscribed. */
  get readers(): number {
    return this.listeners.size;
  }
}

/** The approximate number of characters of a chunk. Only texts, inputs, outputs and data are measured; every other chunk counts as 256. */
function sizeOf(chunk: Chunk | null): number {
  if (chunk === null) return 256;
  switch (chunk.type) {
    case 'text-delta':
    case 'reasoning-delta':
      return chunk.delta.length + 64;
    case 'file':
      return chunk.url.length + 64;
    case 'tool-input-available':
      return lengthOf(chunk.input);
    case 'tool-output-available':
      return lengthOf(chunk.output);
    default:
      return 'data' in chunk ? lengthOf(chunk.data) : 256;
  }
}

function lengthOf(value: unknown): number {
  return (JSON.stringify(value)?.length ?? 0) + 256;
}

/**
 * Says whether this process is still sure to own its sessions: another process may become their owner only when the lease has ended, or when that process
 * finds this one dead.
 */
export interface Lease {
  readonly isSure: boolean;
  /** Calls `callback` whenever this process is sure again. The returned function unsubscribes. */
  onSure(callback: () => void): () => void;
}

/**
 * A view of a log that ends at the last entry that was released with `show`. It is for logs whose chunks clients may get only later, for instance
 * after the hub has them.
 */
export class ReleasedLog implements ShownLog {
  readonly isGathered: boolean;
  private readonly log: ChunkLog;
  private readonly lease: Lease | null;
  private shown: number;
  private readonly listeners = new Set<() => void>();

  /** The entries that the log has now are released. */
  constructor(log: ChunkLog, { isGathered, lease }: { isGathered: boolean; lease: Lease | null }) {
    this.log = log;
    this.lease = lease;
    this.isGathered = isGathered;
    this.shown = log.last;
  }

  get isHeld(): boolean {
    return this.lease?.isSure === false;
  }

  get epoch(): string {
    return this.log.epoch;
  }

  get first(): number {
    return this.log.first;
  }

  get last(): number {
    return this.shown;
  }

  get readers(): number {
    return this.listeners.size;
  }

  at(seq: number): LogEntry | undefined {
    return seq <= this.shown ? this.log.at(seq) : undefined;
  }

  /** Releases every entry up to that number. */
  show(seq: number): void {
    if (seq <= this.shown) return;
    this.shown = seq;
    for (const listener of this.listeners) listener();
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

/** The log of one session while this process owns the session. */
export interface SessionLog {
  /** The whole log, including entries that clients may not get yet. */
  readonly chunks: ChunkLog;
  /** The part of the log that clients may get. */
  readonly shown: ShownLog;
  /**
   * Resolves when the hub has every chunk that was appended so far, so that clients may get them; rejects after a time limit. Undefined when the hub
   * already has them, or when there is no hub.
   */
  released(): Promise<void> | undefined;
  /** Sets the callback for stalls. A stall is reported once, when chunks have waited for several seconds to be released. */
  onStall?(callback: () => void): void;
  /** Whether every entry from that number on is stored outside of this process, or waits to be stored there. */
  keeps(from: number): boolean;
  /** Closes the log. The session must append no further chunk. */
  close(): void;
  /** Removes the log, because its session is deleted. */
  remove(): void;
}

/** Creates and opens the logs of sessions. */
export interface Logs {
  /** Opens the log of a session for the new owner of the session: the log of an earlier owner, or a new one. */
  open(key: OwnedKey): Promise<SessionLog>;
  /** Creates a new log in place of one that does not match the stored messages. */
  replace(log: SessionLog): SessionLog;
  /** Resolves when every chunk is stored outside of this process, or after a time limit. */
  close(): Promise<void>;
}

/** Returns a new name for a log. */
export function newEpoch(newId: () => string): string {
  return newId().slice(0, 8);
}

/** Creates logs in memory. Such a log is lost when this process ends. */
export class MemoryLogs implements Logs {
  readonly #newId: () => string;
  readonly #lease: Lease | null;

  /**
   * Chunks that are appended while the `lease` may have ended are released to clients when this process is sure again to own its sessions. A null
   * `lease`: no other process can own a session.
   */
  constructor(newId: () => string, lease: Lease | null) {
    this.#newId = newId;
    this.#lease = lease;
  }

  async open(): Promise<SessionLog> {
    return this.#begin();
  }

  replace(): SessionLog {
    return this.#begin();
  }

  async close(): Promise<void> {}

  #begin(): SessionLog {
    const chunks = new ChunkLog(newEpoch(this.#newId));
    const lease = this.#lease;
    const nothing = () => undefined;
    const keeps = () => false;
    if (!lease) return { chunks, shown: chunks, released: nothing, keeps, close: nothing, remove: nothing };
    const shown = new ReleasedLog(chunks, { isGathered: false, lease });
    const show = () => {
      if (lease.isSure) shown.show(chunks.last);
    };
    const leave = [chunks.subscribe(show), lease.onSure(show)];
    const close = () => {
      for (const end of leave) end();
    };
    return { chunks, shown, released: nothing, keeps, close, remove: nothing };
  }
}
