import type { Chunk } from '../../protocol/index.ts';
import type { OwnedKey } from '../store/store.ts';
import type { Addition, LogWindow } from './hub.ts';
import { ChunkLog, HeldLog, type Lease, type LogRemains, type SessionLog } from './log.ts';

/** What is kept of a log outside of the process; whoever is further behind begins from what is stored. */
const MAX_CHARACTERS = 1024 * 1024;
/** A chunk that is longer is not kept: pictures are in the store, and what was said before one is not needed without it. */
const MAX_CHUNK_CHARACTERS = 128 * 1024;
/** Stands for a chunk that is not kept. */
const LEFT_OUT = '0';

/** What the log of a session needs from those of the whole process. */
export interface ReplicatedLogContext {
  lease: Lease | null;
  /** Something was said. */
  onSaid: (log: ReplicatedLog, chunk: Chunk | null) => void;
  /** Waits, but not for ever, until it is told that all up to here is kept. */
  wait: (log: ReplicatedLog) => Promise<void>;
  onClose: (log: ReplicatedLog) => void;
  onRemove: (log: ReplicatedLog) => void;
}

/** The log of a session that outlives its owner: what is said is told when it is kept. */
export class ReplicatedLog implements SessionLog {
  readonly key: OwnedKey;
  readonly chunks: ChunkLog;
  readonly shown: HeldLog;
  /** Whether what is kept has to be written anew. */
  isWhole = false;
  private readonly context: ReplicatedLogContext;
  private readonly leave: () => void;
  /** What is kept, oldest first: where it stands, and how long it is. */
  private windows: { fence: number; last: number; characters: number }[];
  private characters = 0;
  /** The last chunk that is not kept, or no longer. */
  private missing: number;
  private tellStall: () => void = () => undefined;
  private isStalled = false;

  constructor(key: OwnedKey, epoch: string, windows: readonly LogWindow[], context: ReplicatedLogContext) {
    this.key = key;
    this.context = context;
    this.chunks = new ChunkLog(epoch, remainsOf(windows));
    this.missing = this.chunks.first - 1;
    this.windows = windows.map(({ fence, last, text }) => ({ fence, last, characters: text.length }));
    for (const { characters } of this.windows) this.characters += characters;
    this.shown = new HeldLog(this.chunks, { isGathered: true, lease: context.lease });
    const { chunks } = this;
    this.leave = chunks.subscribe(() => context.onSaid(this, chunks.at(chunks.last)?.chunk ?? null));
  }

  /** Whether everything that was said is kept. */
  get isKept(): boolean {
    return this.shown.last === this.chunks.last;
  }

  told(): Promise<void> | undefined {
    return this.isKept ? undefined : this.context.wait(this);
  }

  onStall(callback: () => void): void {
    this.tellStall = callback;
  }

  /** What was said has waited for long. */
  stalled(): void {
    if (this.isStalled || this.isKept) return;
    this.isStalled = true;
    this.tellStall();
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

  /** What is to be kept now: what was said since the last time, or all there is. */
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

  /** An addition is kept: it may be told. */
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

/** Chunks of a log as they are kept, from a number on; and the last that is left out, 0 when none is. */
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

/** Where the end of a log begins that is kept of it. */
function placeOf(log: ChunkLog): number {
  let from = log.last + 1;
  for (let room = MAX_CHARACTERS; from > log.first && room > 0; from--) room -= jsonOf(log, from - 1).length;
  return from;
}

function jsonOf(log: ChunkLog, seq: number): string {
  const json = JSON.stringify(log.at(seq)?.chunk ?? null);
  return json.length > MAX_CHUNK_CHARACTERS ? LEFT_OUT : json;
}

/** The chunks of a kept log behind the last that is missing in it. One that was added twice, because the answer was lost, counts once. */
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
    // A window of nothing still says how far its owner was.
    if (last >= first + chunks.length) {
      chunks = [];
      first = last + 1;
    }
  }
  return { first, chunks };
}
