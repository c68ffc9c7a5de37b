import { exhaustive } from '../../protocol/exhaustive.ts';
import { ModelFailure } from '../provider-error.ts';
import { classifyClose } from './close.ts';
import type { CloseReason, SocketClose } from './provider.ts';

/** The timeouts and retries of a live connection. */
export interface LinkLimits {
  /** How long the server may take to accept a setup. */
  setupMs: number;
  /** How often to ping the provider, and after how much silence the socket is lost; null: no pings. */
  ping: { everyMs: number; lostMs: number } | null;
  /** After how many failed sockets in a row the connection stops resuming its session. */
  tries: number;
  /** Returns a number from 0 to 1, which spreads the reconnects of connections that were lost together. */
  random: () => number;
}

export const LINK_LIMITS: LinkLimits = {
  setupMs: 10_000,
  ping: { everyMs: 5000, lostMs: 20_000 },
  tries: 5,
  random: Math.random,
};

/** The inputs of `LiveLink`. Sockets are numbered (`n`); inputs from an older socket are ignored. */
export type LinkInput =
  | { type: 'start'; handle: string | null }
  | { type: 'opened'; n: number }
  /** The provider sent a frame or a pong. */
  | { type: 'alive'; n: number }
  | { type: 'closed'; n: number; close: SocketClose }
  | { type: 'unreadable'; n: number }
  /** The session can be resumed from this handle; null: it cannot be resumed. */
  | { type: 'handle'; handle: string | null }
  /** The provider announces that it will close the connection. */
  | { type: 'goAway'; inMs: number }
  /** Whether the model is generating, or has pending input. */
  | { type: 'busy'; isBusy: boolean }
  | { type: 'time' }
  | { type: 'close' };

/**
 * The effects that the connection has to perform. `over` without a failure: ADK closed the connection, or the connection was lost while the model was idle.
 * Duologue's server then starts a new run, with a new connection, for the next input.
 */
export type LinkEffect =
  | { type: 'open'; n: number; handle: string | null }
  /** Closes the socket. `isDead`: the server does not answer, so it will not confirm the close. */
  | { type: 'drop'; n: number; isDead?: true }
  | { type: 'ping'; n: number }
  | { type: 'ready'; isResumed: boolean }
  | { type: 'waiting'; until: number }
  /** The session can no longer be resumed. */
  | { type: 'forget' }
  | { type: 'over'; failure: ModelFailure | null };

type State =
  | { is: 'idle' }
  | { is: 'connecting'; until: number }
  | { is: 'resuming'; until: number }
  | { is: 'backing-off'; until: number }
  | { is: 'open'; since: number; heardAt: number; askedAt: number; leaveAt: number | null }
  | { is: 'over' };

/** The first wait before another socket: Gemini refuses to resume within a second after an idle socket was lost. */
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 8000;
/**
 * How many attempts a connection has to open its first session: few, because the user waits. After `OLD_SESSION_TRIES` attempts to resume a session of an
 * earlier connection, it starts a new session instead.
 */
const FIRST_TRIES = 3;
const OLD_SESSION_TRIES = 2;
/** A socket that was open this long resets the count of failed attempts. */
const STABLE_MS = 10_000;
/**
 * When the server announces a close while the model is busy, the socket is replaced `MARGIN_MS` before the close, but not sooner than `LEAST_MS` after the
 * announcement.
 */
const MARGIN_MS = 3000;
const LEAST_MS = 5000;

/**
 * Decides when to connect, resume, ping and stop trying, over all sockets of one connection. It does no input or output, reads no
 * clock, and knows nothing of the conversation.
 */
export class LiveLink {
  private readonly limits: LinkLimits;
  private readonly closeReasons: readonly CloseReason[];
  private state: State = { is: 'idle' };
  private n = 0;
  private handle: string | null = null;
  /**
   * Whether a session was open on this connection. From then on a lost socket is replaced only by resuming that session with its handle: a new
   * session would lack the input that the user has sent on this connection.
   */
  private wasOpen = false;
  private isBusy = false;
  private tries = 0;
  private out: LinkEffect[] = [];

  constructor(limits: LinkLimits, closeReasons: readonly CloseReason[]) {
    this.limits = limits;
    this.closeReasons = closeReasons;
  }

  /** When to push the input `time`, unless another input comes before; null: never. */
  get wakesAt(): number | null {
    const { state } = this;
    const { ping } = this.limits;
    switch (state.is) {
      case 'connecting':
      case 'resuming':
      case 'backing-off':
        return state.until;
      case 'open': {
        const next = ping ? Math.min(state.askedAt + ping.everyMs, state.heardAt + ping.lostMs) : null;
        if (state.leaveAt === null) return next;
        return next === null ? state.leaveAt : Math.min(next, state.leaveAt);
      }
      default:
        return null;
    }
  }

  push(input: LinkInput, now: number): LinkEffect[] {
    this.apply(input, now);
    return this.out.splice(0);
  }

  private apply(input: LinkInput, now: number): void {
    const { state } = this;
    if (state.is === 'over') return;
    if ('n' in input && input.n !== this.n) return;
    switch (input.type) {
      case 'start':
        this.handle = input.handle;
        return this.open(now);
      case 'opened': {
        if (state.is !== 'connecting' && state.is !== 'resuming') return;
        const isResumed = state.is === 'resuming';
        this.state = { is: 'open', since: now, heardAt: now, askedAt: now, leaveAt: null };
        this.wasOpen = true;
        this.out.push({ type: 'ready', isResumed });
        return;
      }
      case 'alive':
        if (state.is === 'open') state.heardAt = now;
        return;
      case 'handle':
        this.handle = input.handle;
        return;
      case 'busy':
        this.isBusy = input.isBusy;
        if (state.is === 'open' && state.leaveAt !== null) this.leave(state, now);
        return;
      case 'goAway':
        if (state.is !== 'open') return;
        state.leaveAt = now + Math.max(LEAST_MS, input.inMs - MARGIN_MS);
        return this.leave(state, now);
      case 'unreadable': {
        const message = 'The live model sent a frame that cannot be read. The connection was closed.';
        this.out.push({ type: 'drop', n: this.n });
        return this.end(new ModelFailure('UNREADABLE', message));
      }
      case 'closed':
        return this.closed(input.close, now);
      case 'time':
        return this.time(state, now);
      case 'close':
        if (this.n > 0) this.out.push({ type: 'drop', n: this.n });
        return this.end(null);
      default:
        return exhaustive(input);
    }
  }

  private time(state: State, now: number): void {
    switch (state.is) {
      case 'connecting':
      case 'resuming': {
        if (now < state.until) return;
        const message = `The live model did not answer the setup within ${this.limits.setupMs} ms.`;
        this.out.push({ type: 'drop', n: this.n });
        // Do not try again: a server that does not answer the first setup would not answer the next one either.
        if (state.is === 'connecting') return this.end(new ModelFailure('SILENT', message));
        this.forget();
        return this.lost(new ModelFailure('SILENT', message), now);
      }
      case 'backing-off':
        if (now >= state.until) this.open(now);
        return;
      case 'open':
        return this.check(state, now);
      default:
        // No timeout runs in the other states.
        return;
    }
  }

  /** Pings the provider, abandons a silent socket, and replaces a socket whose close was announced. */
  private check(state: Extract<State, { is: 'open' }>, now: number): void {
    const { ping } = this.limits;
    if (state.leaveAt !== null && now >= state.leaveAt) return this.leave(state, now);
    if (!ping) return;
    if (now - state.heardAt >= ping.lostMs) {
      this.out.push({ type: 'drop', n: this.n, isDead: true });
      const message = `The live model sent nothing for ${ping.lostMs} ms, and did not answer pings.`;
      return this.lost(new ModelFailure('UNREACHABLE', message), now);
    }
    if (now - state.askedAt < ping.everyMs) return;
    state.askedAt = now;
    this.out.push({ type: 'ping', n: this.n });
  }

  /** Replaces a socket whose close was announced: as soon as the model is idle, at the latest at `leaveAt`. */
  private leave(state: Extract<State, { is: 'open' }>, now: number): void {
    if (state.leaveAt === null) return;
    if (this.isBusy && now < state.leaveAt) return;
    // Without a handle the session ends with this socket, so the socket is used until the server closes it.
    if (this.handle === null) {
      state.leaveAt = null;
      return;
    }
    this.out.push({ type: 'drop', n: this.n });
    // The connection ends when the server announces the close of `limits.tries` sockets in a row, each within `STABLE_MS` after it opened.
    this.tries = this.isStable(state, now) ? 0 : this.tries + 1;
    if (this.tries >= this.limits.tries) {
      const message = `The live model announced the close of ${this.tries} connections in a row, each within ${STABLE_MS} ms after it opened.`;
      return this.end(this.isBusy ? new ModelFailure('UNREACHABLE', message) : null);
    }
    const first = this.isBusy ? 0 : FIRST_WAIT_MS;
    this.backOff(now + (this.tries > 1 ? this.wait() : first));
  }

  private isStable(state: Extract<State, { is: 'open' }>, now: number): boolean {
    return now - state.since >= STABLE_MS;
  }

  private closed(close: SocketClose, now: number): void {
    const { state } = this;
    const isSetUp = state.is === 'open';
    const isResuming = state.is === 'resuming';
    if (!isSetUp && !isResuming && state.is !== 'connecting') return;
    const { then, failure } = classifyClose(close, this.closeReasons, { isSetUp, isResuming });
    if (then === 'stop') return this.end(failure);
    if (then === 'restart') this.forget();
    this.lost(failure, now);
  }

  /** The socket is lost: connects again, or ends the connection. */
  private lost(failure: ModelFailure, now: number): void {
    const { state } = this;
    if (state.is === 'open' && this.isStable(state, now)) this.tries = 0;
    this.tries += 1;
    if (!this.wasOpen && this.tries >= OLD_SESSION_TRIES) this.forget();
    // An idle connection ends without an error, because no answer is lost: the next input starts a new run with a new connection.
    const isAwaited = this.isBusy || !this.wasOpen;
    const canRetry = this.handle !== null || !this.wasOpen;
    const most = this.wasOpen ? this.limits.tries : FIRST_TRIES;
    if (!canRetry || this.tries >= most) return this.end(isAwaited ? failure : null);
    const isUrgent = state.is === 'open' && this.isBusy && this.tries === 1;
    this.backOff(isUrgent ? now : now + this.wait());
  }

  private forget(): void {
    if (this.handle === null) return;
    this.handle = null;
    this.out.push({ type: 'forget' });
  }

  private wait(): number {
    const longest = Math.min(FIRST_WAIT_MS * 2 ** (this.tries - 1), LONGEST_WAIT_MS);
    return Math.round(longest * (1 + this.limits.random() / 2));
  }

  private backOff(until: number): void {
    this.state = { is: 'backing-off', until };
    if (this.tries > 1) this.out.push({ type: 'waiting', until });
  }

  private open(now: number): void {
    const { handle } = this;
    this.n += 1;
    this.state = { is: handle === null ? 'connecting' : 'resuming', until: now + this.limits.setupMs };
    this.out.push({ type: 'open', n: this.n, handle });
  }

  private end(failure: ModelFailure | null): void {
    this.state = { is: 'over' };
    this.out.push({ type: 'over', failure });
  }
}
