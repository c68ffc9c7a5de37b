import { ProtocolError } from '../protocol/index.ts';
import type { Clock } from './clock.ts';
import { RateLimiter } from './rate-limit.ts';
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

/** Counts what one client sends. What is more than it may is dropped: some of it is answered, and too much of it ends the connection. */
export class FrameMeter {
  private readonly context: FrameMeterContext;
  private readonly frames: RateLimiter;
  private readonly mediaFrames: RateLimiter;
  private readonly mediaBytes: RateLimiter;
  private dropped = 0;

  constructor(context: FrameMeterContext) {
    this.context = context;
    const { limits, clock } = context;
    const limiter = (perSecond: number, burst: number) =>
      new RateLimiter({ burst: perSecond * burst, perMinute: perSecond * 60 }, clock);
    this.frames = limiter(limits.framesPerSecond, 2);
    this.mediaFrames = limiter(limits.mediaFramesPerSecond, MEDIA_BURST);
    this.mediaBytes = limiter(limits.mediaBytesPerSecond, MEDIA_BURST);
  }

  /** Counts a frame that asks for an answer: false when it is one too many, and dropped. */
  allows(): boolean {
    return this.count(this.frames, 1);
  }

  /** Counts a binary frame. */
  allowsMedia(): boolean {
    return this.count(this.mediaFrames, 1);
  }

  /** Counts the bytes of sound and pictures. */
  allowsMediaBytes(bytes: number): boolean {
    return this.count(this.mediaBytes, bytes);
  }

  private count(limiter: RateLimiter, count: number): boolean {
    if (limiter.take('', count) === 0) return true;
    this.drop();
    return false;
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
