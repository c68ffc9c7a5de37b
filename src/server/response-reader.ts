import { type Chunk, DONE, encodeBlock, KEEP_ALIVE } from '../protocol/index.ts';
import type { Output, Reader } from './output.ts';
import type { Pulse, Window } from './pace.ts';

/** How many beats a client may leave what was sent to it untaken, while the agent may be held back for it. */
const MAX_STALLED_BEATS = 4;

/** Timers that all readers share. */
export interface Pacing {
  window: Window;
  keepAlive: Pulse;
}

/** What of the log a reader takes. */
export interface Reading {
  /** It ends with the first end of a response that stands behind this place; else behind where it begins. */
  endsAfter?: number;
  /** Approvals whose requests are left out. */
  omitted?: ReadonlySet<string>;
  /** Tells that everything of a live turn waits: it reads no further than to there. */
  isPaused?: () => boolean;
}

/**
 * Reads one response from the log as SSE text. `next` gives all there is: the first piece at once, then what gathers
 * within a short window; whatever a person waits for (a tool, a card, an error, the end) goes at once.
 */
export class ResponseReader implements Reader {
  /** Called when the reader is given up because nobody takes what it has. The client may resume. */
  onDrop: (() => void) | null = null;
  private dropped = false;
  private readonly output: Output;
  private readonly pacing: Pacing;
  private readonly endsAfter: number;
  private readonly reading: Reading;
  private seq: number;
  private seqAtBeat = -1;
  private stalledBeats = 0;
  private scanned: number;
  private urgent = true;
  private ended = false;
  private idle = false;
  private wake: (() => void) | null = null;
  private leave: (() => void)[] = [];

  /** Reads from behind the place `from`. */
  constructor(output: Output, pacing: Pacing, from: number, reading: Reading = {}) {
    this.output = output;
    this.pacing = pacing;
    this.seq = from;
    this.scanned = from;
    this.endsAfter = reading.endsAfter ?? from;
    this.reading = reading;
    this.leave = [
      output.log.subscribe(() => this.arrived()),
      output.attach(this),
      pacing.keepAlive.join(() => this.beat()),
    ];
  }

  /** Whether the response was cut off, as opposed to having ended. */
  get isDropped(): boolean {
    return this.dropped;
  }

  position(): number {
    return this.seq;
  }

  /** The id of the chunk that was read last, or that stands before the first. */
  get lastId(): string {
    return `${this.output.log.epoch}-${this.seq}`;
  }

  /** The next text, or null when the response is over or the reader was closed. */
  async next(): Promise<string | null> {
    while (!this.ended) {
      if (this.output.log.last > this.seq && this.isDue()) return this.take();
      if (this.output.log.last > this.seq) await this.gather();
      else {
        this.urgent = true;
        const beat = await this.arrival();
        if (beat) return KEEP_ALIVE;
      }
    }
    return null;
  }

  close(): void {
    this.ended = true;
    for (const leave of this.leave) leave();
    this.leave = [];
    this.wake?.();
    this.wake = null;
  }

  private take(): string {
    const { log } = this.output;
    const { omitted, isPaused } = this.reading;
    let text = '';
    for (let entry = log.at(this.seq + 1); entry; entry = log.at(this.seq + 1)) {
      this.seq = entry.seq;
      const { chunk } = entry;
      if (chunk) {
        if (chunk.type === 'tool-approval-request' && omitted?.has(chunk.approvalId)) continue;
        if (this.isStepOfRequest(chunk)) continue;
        text += encodeBlock(chunk, `${log.epoch}-${entry.seq}`);
        continue;
      }
      if (entry.seq <= this.endsAfter) continue;
      text += DONE;
      this.close();
      break;
    }
    if (!this.ended && isPaused?.()) {
      text += encodeBlock({ type: 'finish', finishReason: 'tool-calls' }) + DONE;
      this.close();
    }
    // What it needs next is no longer kept: better an end without [DONE] than a gap.
    if (this.seq < log.first - 1) this.drop();
    this.scanned = this.seq;
    this.urgent = false;
    this.idle = false;
    this.output.readerMoved();
    return text;
  }

  /** The steps around the requests of a live turn are not for this wire. */
  private isStepOfRequest({ type }: Chunk): boolean {
    if (type === 'finish-step') return true;
    return type === 'start-step' && this.output.log.at(this.seq + 1)?.chunk?.type === 'tool-approval-request';
  }

  /** Whether what has arrived should leave now. */
  private isDue(): boolean {
    if (this.urgent) return true;
    const { log } = this.output;
    for (let seq = this.scanned + 1; seq <= log.last; seq++) {
      const type = log.at(seq)?.chunk?.type;
      if (type !== 'text-delta' && type !== 'reasoning-delta') return true;
    }
    this.scanned = log.last;
    return false;
  }

  private gather(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
      this.pacing.window.wake(() => {
        this.urgent = true;
        resolve();
      });
    });
  }

  private arrival(): Promise<boolean> {
    return new Promise((resolve) => {
      this.wake = () => resolve(this.idle && this.output.log.last === this.seq && !this.ended);
    });
  }

  private arrived(): void {
    if (!this.wake) return;
    const { chunk } = this.output.log.at(this.output.log.last) ?? {};
    if (!this.urgent && chunk && (chunk.type === 'text-delta' || chunk.type === 'reasoning-delta')) return;
    this.idle = false;
    const { wake } = this;
    this.wake = null;
    wake();
  }

  private drop(): void {
    this.dropped = true;
    this.close();
    this.onDrop?.();
  }

  private beat(): void {
    const waits = this.output.log.last > this.seq;
    this.stalledBeats = waits && this.seq === this.seqAtBeat ? this.stalledBeats + 1 : 0;
    this.seqAtBeat = this.seq;
    if (this.stalledBeats >= MAX_STALLED_BEATS) this.drop();
    if (!this.wake || waits) return;
    this.idle = true;
    const { wake } = this;
    this.wake = null;
    wake();
  }
}
