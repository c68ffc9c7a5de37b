import { ProtocolError } from '../../protocol/index.ts';
import type { Clock } from '../clock.ts';
import type { SocketLimits } from './socket.ts';

/** Frames that are dropped before the connection ends. */
const MAX_DROPPED = 2000;
/** Of so many that are dropped, one is answered. */
const ANSWERED = 100;
/** Seconds of sound and pictures that may come at once. */
const MEDIA_BURST = 8;

/** What a meter is made of. */
export interface FrameMeterContext {
  limits: SocketLimits;
  clock: Clock;
  /** Frames were dropped. */
  refuse: (error: ProtocolError) => void;
  /** Too many were dropped. */
  onFlood: () => void;
}

/** What may be taken of something: so much at once, and so much a millisecond. */
class Allowance {
  private readonly burst: number;
  private readonly perMs: number;
  private left: number;
  private at: number;

  constructor(perSecond: number, burstSeconds: number, now: number) {
    this.burst = perSecond * burstSeconds;
    this.perMs = perSecond / 1000;
    this.left = this.burst;
    this.at = now;
  }

  /** Takes so much, if it is there. */
  take(count: number, now: number): boolean {
    this.left = Math.min(this.burst, this.left + (now - this.at) * this.perMs);
    this.at = now;
    if (this.left < count) return false;
    this.left -= count;
    return true;
  }
}

/** Counts what one client sends. What is more than it may is dropped: some of it is answered, and too much of it ends the connection. */
export class FrameMeter {
  private readonly context: FrameMeterContext;
  private readonly frames: Allowance;
  private readonly mediaFrames: Allowance;
  private readonly mediaBytes: Allowance;
  private dropped = 0;

  constructor(context: FrameMeterContext) {
    this.context = context;
    const { limits, clock } = context;
    const now = clock.elapsed();
    this.frames = new Allowance(limits.framesPerSecond, 2, now);
    this.mediaFrames = new Allowance(limits.mediaFramesPerSecond, MEDIA_BURST, now);
    this.mediaBytes = new Allowance(limits.mediaBytesPerSecond, MEDIA_BURST, now);
  }

  /** Counts a frame that asks for an answer: false when it is one too many, and dropped. */
  allows(): boolean {
    return this.count(this.frames.take(1, this.context.clock.elapsed()));
  }

  /** Counts a binary frame and its bytes. With one look at the clock: it comes fifty times a second from everyone who speaks. */
  allowsMedia(bytes: number): boolean {
    const now = this.context.clock.elapsed();
    return this.count(this.mediaFrames.take(1, now) && this.mediaBytes.take(bytes, now));
  }

  /** Counts the bytes of sound and pictures that come as text. */
  allowsMediaBytes(bytes: number): boolean {
    return this.count(this.mediaBytes.take(bytes, this.context.clock.elapsed()));
  }

  private count(isAllowed: boolean): boolean {
    if (!isAllowed) this.drop();
    return isAllowed;
  }

  private drop(): void {
    this.dropped++;
    if (this.dropped > MAX_DROPPED) return this.context.onFlood();
    if (this.dropped % ANSWERED !== 1) return;
    const error = new ProtocolError('rate_limited', 'Too many frames: some were dropped.', {
      retryAfterMs: 1000,
    });
    this.context.refuse(error);
  }
}
