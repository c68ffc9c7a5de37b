import { type Chunk, parseChunkId } from '../../protocol/index.ts';
import type { OwnedKey } from '../store/store.ts';

/** An entry of the log: a chunk, or the end of a response. Every entry has a number; only chunks carry it as their id. */
export interface LogEntry {
  seq: number;
  /** Null marks the end of a response. */
  chunk: Chunk | null;
}

/** What is left of a log: its chunks, without a gap, from that number on. */
export interface LogRemains {
  first: number;
  chunks: readonly (Chunk | null)[];
}

/** What may be told of a log: all of it, or what stands before the first thing that must wait. */
export interface ShownLog {
  readonly epoch: string;
  /** The number of the oldest entry still kept. */
  readonly first: number;
  /** The number of the last entry that may be told, 0 when there is none. */
  readonly last: number;
  /** Whether what comes has gathered already: it leaves at once. */
  readonly isGathered?: boolean;
  /** Whether another process may have the session by now: until that is known nothing new is told, sound neither. */
  readonly isHeld?: boolean;
  /** How many readers listen. */
  readonly readers: number;
  /** The entry with that number, if it is kept and may be told. */
  at(seq: number): LogEntry | undefined;
  /** Calls the listener whenever there is more; the returned function ends that. */
  subscribe(listener: () => void): () => void;
}

const MAX_ENTRIES = 50_000;
/** Characters of all that is kept: pictures and long outputs are chunks too. */
const MAX_CHARACTERS = 16 * 1024 * 1024;

/**
 * What a session has sent, in order, so that a client that lost its connection gets the rest. In memory and bounded:
 * what fell off its head is gone, and a reader that still needs it must start from a snapshot.
 */
export class ChunkLog implements ShownLog {
  readonly epoch: string;
  private entries: LogEntry[] = [];
  /** The number of the entry at index 0 of `entries`. */
  private base: number;
  private characters = 0;
  private readonly listeners = new Set<() => void>();

  /** A new one, or one that goes on where another ended, with what is left of that. */
  constructor(epoch: string, { first, chunks }: LogRemains = { first: 1, chunks: [] }) {
    this.epoch = epoch;
    this.base = first;
    for (const chunk of chunks) this.append(chunk);
  }

  /** The number of the last entry, 0 when there is none. */
  get last(): number {
    return this.base + this.entries.length - 1;
  }

  /** The number of the oldest entry still kept. */
  get first(): number {
    return this.base;
  }

  append(chunk: Chunk | null): number {
    const seq = this.last + 1;
    this.entries.push({ seq, chunk });
    this.characters += sizeOf(chunk);
    if (this.entries.length > MAX_ENTRIES) this.drop(this.base + MAX_ENTRIES / 2);
    if (this.characters > MAX_CHARACTERS) this.shrink();
    for (const listener of this.listeners) listener();
    return seq;
  }

  /** The entry with that number, if it is kept. */
  at(seq: number): LogEntry | undefined {
    return this.entries[seq - this.base];
  }

  /** The number in a chunk's id, if everything after that chunk is kept. */
  placeOf(chunkId: string): number | null {
    const named = parseChunkId(chunkId);
    if (named?.epoch !== this.epoch || named.seq < this.first - 1 || named.seq > this.last) return null;
    return named.seq;
  }

  /** Forgets every entry before that number. */
  drop(before: number): void {
    const count = Math.min(Math.max(before - this.base, 0), this.entries.length);
    if (count === 0) return;
    for (let index = 0; index < count; index++) this.characters -= sizeOf(this.entries[index]?.chunk ?? null);
    this.entries = this.entries.slice(count);
    this.base += count;
  }

  /** Forgets the older half of what is kept, by its size; the last entry stays. */
  private shrink(): void {
    let rest = this.characters;
    let before = this.base;
    while (rest > MAX_CHARACTERS / 2 && before < this.last) {
      rest -= sizeOf(this.at(before)?.chunk ?? null);
      before++;
    }
    this.drop(before);
  }

  /** Calls the listener after every append; the returned function ends that. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** How many readers listen. */
  get readers(): number {
    return this.listeners.size;
  }
}

/** Roughly the characters of a chunk. Only what can be long is looked at closely. */
function sizeOf(chunk: Chunk | null): number {
  switch (chunk?.type) {
    case 'text-delta':
    case 'reasoning-delta':
      return chunk.delta.length + 64;
    case 'file':
      return chunk.url.length + 64;
    case 'tool-input-available':
      return lengthOf(chunk.input);
    case 'tool-output-available':
      return lengthOf(chunk.output);
    case 'data-image':
    case 'data-pcm':
    case 'data-audio':
    case 'data-executable-code':
    case 'data-code-execution-result':
      return lengthOf(chunk.data);
    default:
      return 256;
  }
}

function lengthOf(value: unknown): number {
  return (JSON.stringify(value)?.length ?? 0) + 256;
}

/** Whether this process can be sure that no other has taken its sessions over. */
export interface Lease {
  readonly isSure: boolean;
  /** Calls back when it is sure again; the returned function ends that. */
  onSure(callback: () => void): () => void;
}

/** A log of which only so much may be told as someone else has shown. */
export class HeldLog implements ShownLog {
  readonly isGathered: boolean;
  private readonly log: ChunkLog;
  private readonly lease: Lease | null;
  private shown: number;
  private readonly listeners = new Set<() => void>();

  /** All that stands in it now may be told. */
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

  /** Everything up to that number may be told. */
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

/** The log of one session, from when it is taken up until it is let go of. */
export interface SessionLog {
  /** Everything that was said. */
  readonly chunks: ChunkLog;
  /** What of it may be told. */
  readonly shown: ShownLog;
  /** Resolves when all that was said so far may be told, undefined when it may be already. Rejects when that takes too long. */
  told(): Promise<void> | undefined;
  /** Calls back when something has waited for seconds and cannot be told yet; once, until all could be told again. */
  onStall?(callback: () => void): void;
  /** Whether all from that number on outlives this process. */
  keeps(from: number): boolean;
  /** Nothing more is said here. */
  close(): void;
  /** Nobody needs it any more. */
  remove(): void;
}

/** Where the logs of sessions are. */
export interface Logs {
  /** The log of a session for its owner: what an earlier one left of it, or a new one. */
  open(key: OwnedKey): Promise<SessionLog>;
  /** A new log in place of one that does not go together with what is stored. */
  replace(log: SessionLog): SessionLog;
  /** Resolves when everything that was said is kept, or after a while. */
  close(): Promise<void>;
}

/** Names a log. */
export function newEpoch(newId: () => string): string {
  return newId().slice(0, 8);
}

/** Logs in memory: they end with their owner. */
export class MemoryLogs implements Logs {
  readonly #newId: () => string;
  readonly #lease: Lease | null;

  /** `lease`: what is said while it may have ended is held back. */
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
    if (!lease) return { chunks, shown: chunks, told: nothing, keeps, close: nothing, remove: nothing };
    const shown = new HeldLog(chunks, { isGathered: false, lease });
    const show = () => {
      if (lease.isSure) shown.show(chunks.last);
    };
    const leave = [chunks.subscribe(show), lease.onSure(show)];
    const close = () => {
      for (const end of leave) end();
    };
    return { chunks, shown, told: nothing, keeps, close, remove: nothing };
  }
}
