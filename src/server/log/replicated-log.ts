import type { Chunk } from '../../protocol/index.ts';
import type { OwnedKey } from '../store/store.ts';
import type { Addition, LogWindow } from './hub.ts';
import { ChunkLog, type Lease, type LogRemains, ReleasedLog, type SessionLog } from './log.ts';

/** The largest number of characters of one log in the hub. A client that missed more than that gets the stored messages. */
const MAX_CHARACTERS = 1024 * 1024;
/**
 * The largest number of characters of a chunk in the hub. A longer chunk is left out. Then the next owner does not use the chunks before it either,
 * and a client that lacks them gets the stored messages.
 */
const MAX_CHUNK_CHARACTERS = 128 * 1024;
/** The JSON in the hub in place of a chunk that is left out. */
const LEFT_OUT = '0';

/** The lease, and the functions of `ReplicatedLogs` that a replicated log calls. */
export interface ReplicatedLogContext {
  lease: Lease | null;
  /** Called when an entry was appended; a null chunk is an end mark. */
  onAppended: (log: ReplicatedLog, chunk: Chunk | null) => void;
  /** Resolves when the hub has every chunk that was appended so far; rejects after a time limit. */
  wait: (log: ReplicatedLog) => Promise<void>;
  onClose: (log: ReplicatedLog) => void;
  onRemove: (log: ReplicatedLog) => void;
}

/** The log of one session, replicated to the hub so that it outlives its owner. Clients get a chunk only when the hub has it. */
export class ReplicatedLog implements SessionLog {
  readonly key: OwnedKey;
  readonly chunks: ChunkLog;
  readonly shown: ReleasedLog;
  /** Whether the next write must contain the whole log, because the hub does not have the log or has an old one. */
  isWhole = false;
  private readonly context: ReplicatedLogContext;
  private readonly leave: () => void;
  /** The windows that the hub has, oldest first: the owner's fence, the number of the last chunk, and the length of the JSON. */
  private windows: { fence: number; last: number; characters: number }[];
  private characters = 0;
  /** The number of the newest chunk that the hub does not have, because it was left out or discarded there. */
  private missing: number;
  private stallCallback: () => void = () => undefined;
  private isStalled = false;

  constructor(key: OwnedKey, epoch: string, windows: readonly LogWindow[], context: ReplicatedLogContext) {
    this.key = key;
    this.context = context;
    this.chunks = new ChunkLog(epoch, remainsOf(windows));
    this.missing = this.chunks.first - 1;
    this.windows = windows.map(({ fence, last, text }) => ({ fence, last, characters: text.length }));
    for (const { characters } of this.windows) this.characters += characters;
    this.shown = new ReleasedLog(this.chunks, { isGathered: true, lease: context.lease });
    const { chunks } = this;
    this.leave = chunks.subscribe(() => context.onAppended(this, chunks.at(chunks.last)?.chunk ?? null));
  }

  /** Whether the hub has every chunk that was appended, except for those that are left out. */
  get isKept(): boolean {
    return this.shown.last === this.chunks.last;
  }

  released(): Promise<void> | undefined {
    return this.isKept ? undefined : this.context.wait(this);
  }

  onStall(callback: () => void): void {
    this.stallCallback = callback;
  }

  /** Reports a stall, because chunks have waited too long for the hub. Reports each stall once. */
  stalled(): void {
    if (this.isStalled || this.isKept) return;
    this.isStalled = true;
    this.stallCallback();
  }

  keeps(from: number): boolean {
    return from > this.missing;
  }

  close(): void {
    this.leave();
    this.context.onClose(this);
  }

  remove(): void {
    this.close();
    this.context.onRemove(this);
  }

  /** Returns the next write to the hub: the chunks since the last write, or the whole log. */
  addition(): Addition {
    const { key, chunks, shown, isWhole } = this;
    const { last } = chunks;
    const from = isWhole ? placeOf(chunks) : Math.max(shown.last + 1, chunks.first);
    const { text, missing } = textOf(chunks, from);
    this.missing = Math.max(this.missing, missing, isWhole ? from - 1 : 0);
    if (isWhole) {
      this.windows = [];
      this.characters = 0;
    }
    this.trim(text.length);
    return { key, epoch: chunks.epoch, last, text, isWhole, oldest: this.windows[0] ?? null };
  }

  /** Records that the hub has an addition, and releases its chunks to clients. */
  added({ last, text, isWhole }: Addition): void {
    this.windows.push({ fence: this.key.fence, last, characters: text.length });
    this.characters += text.length;
    if (isWhole) this.isWhole = false;
    this.isStalled = false;
    this.shown.show(last);
  }

  /** Forgets the oldest windows, which the hub may discard then, so that `more` characters fit. */
  private trim(more: number): void {
    let before = 0;
    for (const { characters, last } of this.windows) {
      if (this.characters + more <= MAX_CHARACTERS) break;
      this.characters -= characters;
      this.missing = Math.max(this.missing, last);
      before++;
    }
    if (before > 0) this.windows = this.windows.slice(before);
  }
}

/** The chunks from a number on as a JSON array, and the number of the last chunk that is left out (0 when none is). */
function textOf(log: ChunkLog, from: number): { text: string; missing: number } {
  let text = '';
  let missing = 0;
  for (let seq = from; seq <= log.last; seq++) {
    const json = jsonOf(log, seq);
    if (json === LEFT_OUT) missing = seq;
    text += `${text && ','}${json}`;
  }
  return { text: `[${text}]`, missing };
}

/** The number of the first chunk to write when the hub needs the whole log: the newest chunks, until they have about `MAX_CHARACTERS` characters. */
function placeOf(log: ChunkLog): number {
  let from = log.last + 1;
  for (let room = MAX_CHARACTERS; from > log.first && room > 0; from--) room -= jsonOf(log, from - 1).length;
  return from;
}

function jsonOf(log: ChunkLog, seq: number): string {
  const json = JSON.stringify(log.at(seq)?.chunk ?? null);
  return json.length > MAX_CHUNK_CHARACTERS ? LEFT_OUT : json;
}

/**
 * The chunks of a log after the last gap in its windows. A window that was added twice, because the hub's answer to the first write was lost, is read
 * once.
 */
function remainsOf(windows: readonly LogWindow[]): LogRemains {
  let first = 1;
  let chunks: (Chunk | null)[] = [];
  for (const { last, text } of windows) {
    const found = JSON.parse(text) as (Chunk | null | 0)[];
    found.forEach((chunk, index) => {
      const seq = last - found.length + 1 + index;
      const next = first + chunks.length;
      if (seq < next) return;
      if (seq > next || chunk === 0) {
        chunks = [];
        first = chunk === 0 ? seq + 1 : seq;
      }
      if (chunk !== 0) chunks.push(chunk);
    });
    // A window that replaced a whole log is empty if its owner had no chunk of the log in memory. Its `last` still says how many chunks the log had.
    if (last >= first + chunks.length) {
      chunks = [];
      first = last + 1;
    }
  }
  return { first, chunks };
}
