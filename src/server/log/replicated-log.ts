import type { Chunk } from '../../protocol/index.ts';
import type { OwnedKey } from '../store/store.ts';
import type { Addition, LogWindow } from './hub.ts';
import { ChunkLog, type Lease, type LogRemains, ReleasedLog, type SessionLog } from './log.ts';

/** The largest number of characters of one log in the hub. A client that missed more starts from the stored messages. */
const MAX_CHARACTERS = 1024 * 1024;
/** A longer chunk is not replicated. Pictures are in the store anyway, and a client that lacks such a chunk cannot use the chunks before it. */
const MAX_CHUNK_CHARACTERS = 128 * 1024;
/** Replaces a chunk that is not replicated. */
const LEFT_OUT = '0';

/** The callbacks from a replicated log to `ReplicatedLogs`. */
export interface ReplicatedLogContext {
  lease: Lease | null;
  /** Called when a chunk was appended; null is the end of a response. */
  onAppended: (log: ReplicatedLog, chunk: Chunk | null) => void;
  /** Resolves when the hub has every chunk so far; rejects after a time limit. */
  wait: (log: ReplicatedLog) => Promise<void>;
  onClose: (log: ReplicatedLog) => void;
  onRemove: (log: ReplicatedLog) => void;
}

/** The log of one session, replicated to the hub so that it outlives its owner. Clients get a chunk only when the hub has it. */
export class ReplicatedLog implements SessionLog {
  readonly key: OwnedKey;
  readonly chunks: ChunkLog;
  readonly shown: ReleasedLog;
  /** Whether the hub needs the whole log again instead of the newest chunks. */
  isWhole = false;
  private readonly context: ReplicatedLogContext;
  private readonly leave: () => void;
  /** The windows that the hub has, oldest first: the number of the last chunk of each window, and its length. */
  private windows: { fence: number; last: number; characters: number }[];
  private characters = 0;
  /** The number of the newest chunk that was left out of the hub, or that the hub has discarded. */
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

  /** Whether the hub has every chunk. */
  get isKept(): boolean {
    return this.shown.last === this.chunks.last;
  }

  released(): Promise<void> | undefined {
    return this.isKept ? undefined : this.context.wait(this);
  }

  onStall(callback: () => void): void {
    this.stallCallback = callback;
  }

  /** Reports a stall, once: chunks have waited too long for the hub. */
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

  /** Records that the hub has an addition, so that clients may get its chunks. */
  added({ last, text, isWhole }: Addition): void {
    this.windows.push({ fence: this.key.fence, last, characters: text.length });
    this.characters += text.length;
    if (isWhole) this.isWhole = false;
    this.isStalled = false;
    this.shown.show(last);
  }

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

/** The chunks from a number on, in the form that the hub stores, and the number of the last chunk that is left out (0 when none is). */
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

/** The number of the first chunk to write when the hub needs the whole log: the newest chunks, up to about `MAX_CHARACTERS`. */
function placeOf(log: ChunkLog): number {
  let from = log.last + 1;
  for (let room = MAX_CHARACTERS; from > log.first && room > 0; from--) room -= jsonOf(log, from - 1).length;
  return from;
}

function jsonOf(log: ChunkLog, seq: number): string {
  const json = JSON.stringify(log.at(seq)?.chunk ?? null);
  return json.length > MAX_CHUNK_CHARACTERS ? LEFT_OUT : json;
}

/** The chunks after the last gap in a log of the hub. A window that was added twice, because the answer of the hub was lost, counts once. */
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
    // A window without chunks still has the number of the last chunk that its owner had appended.
    if (last >= first + chunks.length) {
      chunks = [];
      first = last + 1;
    }
  }
  return { first, chunks };
}
