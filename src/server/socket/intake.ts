import { notJson, ProtocolError } from '../../protocol/index.ts';
import type { HeldBytes } from '../access/byte-budget.ts';
import type { Clock } from '../clock.ts';
import { LARGE_JSON, type LargeJson } from '../large-json.ts';
import { UnfinishedFrame } from './unfinished-frame.ts';

/** A whole frame, as far as it was read: a large one is parsed already. */
export type WholeFrame =
  | { kind: 'binary'; bytes: Uint8Array }
  | { kind: 'text'; text: string }
  | { kind: 'parsed'; value: unknown };

/** What an intake is made of. */
export interface IntakeContext {
  /** Counts the bytes of frames until they are taken. */
  held: HeldBytes;
  /** How long a frame may take to arrive. */
  arrivalMs: number;
  clock: Clock;
  large: LargeJson;
  /** Takes a frame; returns a promise when that takes its time. Never throws or rejects. */
  take: (frame: WholeFrame) => Promise<unknown> | undefined;
  /** A frame is refused: it cannot be read, there is no room for it, or it took too long. */
  refuse: (error: ProtocolError) => void;
}

/** A binary frame of more bytes than this is counted while it is taken. */
const SMALL = 64 * 1024;
const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** What comes in over one socket until it is taken: counted from its first byte on, and taken in the order in which it came. */
export class Intake {
  private readonly context: IntakeContext;
  private readonly unfinished = new UnfinishedFrame();
  private unfinishedBytes = 0;
  /** Bytes of frames that are being taken. */
  private takenBytes = 0;
  private cancelArrival: (() => void) | null = null;
  /** Settles when the large frames so far are parsed: what comes behind them waits. */
  private parsing: Promise<void> | null = null;

  constructor(context: IntakeContext) {
    this.context = context;
  }

  /** A piece of that many bytes came off the socket; the frames that ended in it were received. */
  arrived(piece: number): void {
    const { bytes, isNew } = this.unfinished.push(piece);
    if (isNew) this.stopWaiting();
    if (bytes === this.unfinishedBytes) return;
    this.unfinishedBytes = bytes;
    if (!this.hold() || bytes === 0) return;
    const { clock, arrivalMs, refuse } = this.context;
    this.cancelArrival ??= clock.after(arrivalMs, () =>
      refuse(new ProtocolError('idle', 'A frame took too long to arrive.')),
    );
  }

  /** A frame is whole. */
  receive(data: Uint8Array, isBinary: boolean): void {
    const { byteLength } = data;
    this.unfinished.end(byteLength);
    // `arrived` will tell what came behind it.
    const wasCounted = this.unfinishedBytes > 0;
    this.unfinishedBytes = 0;
    if (isBinary && byteLength <= SMALL && !this.parsing) {
      // Sound is gone before it could be counted: in and out again would be a good part of what it costs.
      if (wasCounted) this.hold();
      this.context.take({ kind: 'binary', bytes: data });
      return;
    }
    this.takenBytes += byteLength;
    const work = this.hold() ? this.take(data, isBinary) : undefined;
    const release = () => {
      this.takenBytes -= byteLength;
      this.hold();
    };
    // Whoever takes the frame tells what became of it.
    if (work) work.then(release, release).catch(() => undefined);
    else release();
  }

  /** The socket is read no more. */
  stopWaiting(): void {
    this.cancelArrival?.();
    this.cancelArrival = null;
  }

  /** The socket is gone, and what it had of an unfinished frame. */
  close(): void {
    this.stopWaiting();
    this.unfinishedBytes = 0;
    this.hold();
  }

  private take(data: Uint8Array, isBinary: boolean): Promise<unknown> | undefined {
    const { take, refuse } = this.context;
    const isLarge = !isBinary && data.byteLength > LARGE_JSON;
    if (!isLarge && !this.parsing) return take(wholeFrame(data, isBinary));
    const taken = (this.parsing ?? Promise.resolve()).then(async () => {
      const frame = isLarge ? await this.parse(data) : wholeFrame(data, isBinary);
      // In an object, for it is not waited for here: what comes behind a frame is taken when that was, not when that is done.
      return { work: take(frame) };
    });
    const parsing: Promise<void> = taken
      .then(
        () => undefined,
        (error: ProtocolError) => refuse(error),
      )
      .then(() => {
        if (this.parsing === parsing) this.parsing = null;
      });
    this.parsing = parsing;
    return taken.then(
      ({ work }) => work,
      () => undefined,
    );
  }

  private async parse(data: Uint8Array): Promise<WholeFrame> {
    try {
      return { kind: 'parsed', value: await this.context.large.parse(data) };
    } catch (error) {
      throw error instanceof ProtocolError ? error : notJson();
    }
  }

  /** Counts what is held; false when there is no room for it. */
  private hold(): boolean {
    try {
      this.context.held.set(this.unfinishedBytes + this.takenBytes);
      return true;
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.context.refuse(error);
      return false;
    }
  }
}

function wholeFrame(data: Uint8Array, isBinary: boolean): WholeFrame {
  return isBinary ? { kind: 'binary', bytes: data } : { kind: 'text', text: UTF8.decode(data) };
}
