import type { ProtocolError } from '../../protocol/index.ts';
import type { Reader } from '../registry/session.ts';

/** Chunks that a reader may lag behind before the agent is held back. */
const MAX_LAG = 4096;

/**
 * The readers of responses. The agent waits for one of them at most: the client that has the floor. That is the one whose post is being
 * answered, or who came back for the rest from where it was. Whoever reads along holds nobody back.
 */
export class Readers {
  private readonly all = new Set<Reader>();
  /** How far the log is. */
  private readonly last: () => number;
  private awaited: Reader | null = null;
  private full: { room: Promise<void>; goOn: () => void } | null = null;

  constructor(last: () => number) {
    this.last = last;
  }

  /** Someone reads from now on; the returned function ends that. */
  attach(reader: Reader): () => void {
    this.all.add(reader);
    if (reader.hasFloor) this.awaited = reader;
    this.moved();
    return () => {
      this.all.delete(reader);
      if (this.awaited === reader) this.awaited = null;
      this.moved();
    };
  }

  /** Another connection has the floor: nobody who reads is waited for. */
  loseFloor(): void {
    this.awaited = null;
    this.moved();
  }

  /** Nothing more will come: whoever reads is told why, and goes. */
  cut(why: ProtocolError): void {
    for (const reader of [...this.all]) reader.cut(why);
  }

  /** A reader took something. */
  moved(): void {
    if (!this.full || this.isLagging()) return;
    this.full.goOn();
    this.full = null;
  }

  /** Resolves when the one who has the floor does not lag far behind; nothing to wait for when they do not. */
  room(): Promise<void> | undefined {
    if (!this.isLagging()) return undefined;
    this.full ??= untilCalled();
    return this.full.room;
  }

  private isLagging(): boolean {
    return this.awaited !== null && this.last() - this.awaited.position() > MAX_LAG;
  }
}

function untilCalled(): { room: Promise<void>; goOn: () => void } {
  let goOn = (): void => undefined;
  const room = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  return { room, goOn };
}
