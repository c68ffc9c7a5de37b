import { exhaustive } from '../../protocol/exhaustive.ts';
import { ModelFailure } from '../provider-error.ts';
import { type Closed, meaningOf } from './close.ts';

/** How patient a live connection is. */
export interface LinkLimits {
  /** How long the server may take to accept a setup. */
  setupMs: number;
  /** How often the server is asked for a sign of life, and how long it may give none; null asks never. */
  ping: { everyMs: number; lostMs: number } | null;
  /** How many sockets in a row may come to nothing, while a session is resumed. */
  tries: number;
  /** A number from 0 to 1, so that many who lost their connection together do not come back together. */
  random: () => number;
}

export const LINK_LIMITS: LinkLimits = {
  setupMs: 10_000,
  ping: { everyMs: 5000, lostMs: 20_000 },
  tries: 5,
  random: Math.random,
};

/** What happens to the connection. Sockets have numbers: what comes of an older one is passed over. */
export type LinkInput =
  | { type: 'start'; handle: string | null }
  | { type: 'opened'; n: number }
  /** A frame or a pong came. */
  | { type: 'heard'; n: number }
  | { type: 'closed'; n: number; closed: Closed }
  | { type: 'unreadable'; n: number }
  /** From where to resume; null: from nowhere any more. */
  | { type: 'handle'; handle: string | null }
  /** The server will leave. */
  | { type: 'goAway'; inMs: number }
  /** Whether the model is in the middle of something. */
  | { type: 'busy'; isBusy: boolean }
  | { type: 'time' }
  | { type: 'close' };

/** What is to be done. `over` without a failure: there is nothing to tell, a new connection can be made when one is needed. */
export type LinkEffect =
  | { type: 'open'; n: number; handle: string | null }
  /** `isDead`: nobody answers there, not even that the socket is closed. */
  | { type: 'drop'; n: number; isDead?: true }
  | { type: 'ping'; n: number }
  | { type: 'ready'; isResumed: boolean }
  | { type: 'waiting'; until: number }
  /** The session cannot be resumed any more. */
  | { type: 'forget' }
  | { type: 'over'; failure: ModelFailure | null };

/** Where the connection is. */
type State =
  | { is: 'idle' }
  | { is: 'connecting'; until: number }
  | { is: 'resuming'; until: number }
  | { is: 'backing-off'; until: number }
  | { is: 'open'; since: number; heardAt: number; askedAt: number; leaveAt: number | null }
  | { is: 'over' };

/** The first wait before another socket: the service refuses a resume within a second of an idle loss. */
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 8000;
/** A first session is tried less often: somebody waits for it. One that another process had is given up before. */
const FIRST_TRIES = 3;
const OLD_SESSION_TRIES = 2;
/** A connection that lived so long was a good one: what was tried before counts no more. */
const STABLE_MS = 10_000;
/** So long before it has to, a busy server is left; but it is always let finish for so long. */
const MARGIN_MS = 3000;
const LEAST_MS = 5000;

/**
 * The connection to a live server over many sockets: it is made, resumed where that is possible, and given up after a few
 * tries. It knows nothing of what is said.
 */
export class GeminiLink {
  private readonly limits: LinkLimits;
  private state: State = { is: 'idle' };
  private n = 0;
  private handle: string | null = null;
  /** Whether a session was open on this connection: what is said since is known to it alone. */
  private wasOpen = false;
  private isBusy = false;
  private tries = 0;
  private out: LinkEffect[] = [];

  constructor(limits: LinkLimits) {
    this.limits = limits;
  }

  /** When to come back, if nothing happens. */
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
    this.take(input, now);
    return this.out.splice(0);
  }

  private take(input: LinkInput, now: number): void {
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
      case 'heard':
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
        const message = 'The live model sent a frame that cannot be read. The connection was given up.';
        this.out.push({ type: 'drop', n: this.n });
        return this.end(new ModelFailure('UNREADABLE', message));
      }
      case 'closed':
        return this.closed(input.closed, now);
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
        // A setup that hangs once hangs again.
        if (state.is === 'connecting') return this.end(new ModelFailure('SILENT', message));
        this.forget();
        return this.lost(new ModelFailure('SILENT', message), now);
      }
      case 'backing-off':
        if (now >= state.until) this.open(now);
        return;
      case 'open':
        return this.look(state, now);
      default:
        // Nothing is waited for.
        return;
    }
  }

  /** Looks whether the server is still there, and whether it is time to leave it. */
  private look(state: Extract<State, { is: 'open' }>, now: number): void {
    const { ping } = this.limits;
    if (state.leaveAt !== null && now >= state.leaveAt) return this.leave(state, now);
    if (!ping) return;
    if (now - state.heardAt >= ping.lostMs) {
      this.out.push({ type: 'drop', n: this.n, isDead: true });
      return this.lost(new ModelFailure('UNREACHABLE', 'The live model gave no sign of life.'), now);
    }
    if (now - state.askedAt < ping.everyMs) return;
    state.askedAt = now;
    this.out.push({ type: 'ping', n: this.n });
  }

  /** Leaves a server that is about to leave: between two turns, or when its time is up. */
  private leave(state: Extract<State, { is: 'open' }>, now: number): void {
    if (state.leaveAt === null) return;
    if (this.isBusy && now < state.leaveAt) return;
    // With nothing to resume from it is listened to until it closes.
    if (this.handle === null) {
      state.leaveAt = null;
      return;
    }
    this.out.push({ type: 'drop', n: this.n });
    // A server that leaves again and again is as good as one that cannot be reached.
    this.tries = this.isStable(state, now) ? 0 : this.tries + 1;
    if (this.tries >= this.limits.tries) {
      const message = 'The live model ended every connection at once.';
      return this.end(this.isBusy ? new ModelFailure('UNREACHABLE', message) : null);
    }
    const first = this.isBusy ? 0 : FIRST_WAIT_MS;
    this.backOff(now + (this.tries > 1 ? this.wait() : first));
  }

  private isStable(state: Extract<State, { is: 'open' }>, now: number): boolean {
    return now - state.since >= STABLE_MS;
  }

  private closed(closed: Closed, now: number): void {
    const { state } = this;
    const isSetUp = state.is === 'open';
    const isResuming = state.is === 'resuming';
    if (!isSetUp && !isResuming && state.is !== 'connecting') return;
    const { then, failure } = meaningOf(closed, { isSetUp, isResuming });
    if (then === 'stop') return this.end(failure);
    if (then === 'anew') this.forget();
    this.lost(failure, now);
  }

  /** The socket is gone: the session is taken up with another one, if there is a way. */
  private lost(failure: ModelFailure, now: number): void {
    const { state } = this;
    if (state.is === 'open' && this.isStable(state, now)) this.tries = 0;
    this.tries += 1;
    if (!this.wasOpen && this.tries >= OLD_SESSION_TRIES) this.forget();
    // Without a way back, what is being said breaks off; otherwise the next thing said begins a new session.
    const isOwed = this.isBusy || !this.wasOpen;
    const canGoOn = this.handle !== null || !this.wasOpen;
    const most = this.wasOpen ? this.limits.tries : FIRST_TRIES;
    if (!canGoOn || this.tries >= most) return this.end(isOwed ? failure : null);
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
