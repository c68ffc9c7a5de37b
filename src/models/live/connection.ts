import { AsyncQueue, type BaseLlmConnection, type LlmResponse } from '@google/adk';
import type { Blob, Content } from '@google/genai';
import { exhaustive } from '../../protocol/exhaustive.ts';
import { newCallId } from '../function-calls.ts';
import { elapsed, systemClock, type Timer, waitingResponse } from '../retry-policy.ts';
import { LINK_LIMITS, type LinkEffect, type LinkInput, type LinkLimits, LiveLink } from './link.ts';
import type { UserInput } from './pending-input.ts';
import type { LiveMessage, LiveProvider, LiveSocket } from './provider.ts';
import { LiveSession, type SessionEffect } from './session.ts';

/** When this many responses wait for ADK, the socket is paused until no more than `RESUME_AT` are left. */
const PAUSE_AT = 200;
const RESUME_AT = 50;

/** The timeouts and retries of a live connection, for every provider. */
export interface LiveConnectionOptions {
  /** How long the server may take to accept the setup; 10 seconds by default. */
  setupTimeoutMs?: number;
  /** How often to ping the server, and after how much silence the connection is lost; null: no pings. */
  ping?: LinkLimits['ping'];
  timer?: Timer;
  /** Returns a number from 0 to 1, for the pauses between attempts. */
  random?: () => number;
}

/** The session that a connection starts with. */
export interface LiveStart {
  /** The conversation before a new session. */
  history: readonly Content[];
  /** The handle of the session to resume; null starts a new session. */
  handle: string | null;
}

/**
 * A live connection for ADK that outlives its sockets: it replaces a lost socket, and ADK does not notice. `LiveLink` decides about sockets and
 * `LiveSession` about the conversation; this class performs their effects, and owns the socket, the timer and the queue to ADK. The constructor
 * returns at once. A failure ends `receive()` with an error.
 */
export class LiveConnection implements BaseLlmConnection {
  private readonly provider: LiveProvider;
  private readonly limits: LinkLimits;
  private readonly timer: Timer;
  private readonly session: LiveSession;
  private readonly out = new AsyncQueue<LlmResponse>();
  private sockets: LiveLink;
  private socket: LiveSocket | undefined;
  private wakesAt: number | null = null;
  private cancelWake: () => void = () => undefined;
  private isOver = false;

  constructor(provider: LiveProvider, { history, handle }: LiveStart, options: LiveConnectionOptions = {}) {
    const { setupTimeoutMs: setupMs = LINK_LIMITS.setupMs, ping = LINK_LIMITS.ping } = options;
    this.provider = provider;
    this.timer = options.timer ?? systemClock;
    this.limits = { ...LINK_LIMITS, setupMs, ping, random: options.random ?? LINK_LIMITS.random };
    this.sockets = new LiveLink(this.limits, provider.closeReasons);
    this.session = new LiveSession(provider.traits, history, newCallId);
    this.link({ type: 'start', handle });
  }

  async sendHistory(history: Content[]): Promise<void> {
    this.session.setHistory(history);
  }

  async sendContent(content: Content): Promise<void> {
    this.add({ content });
  }

  async sendRealtime(blob: Blob): Promise<void> {
    this.add({ blob });
  }

  async sendActivityStart(): Promise<void> {
    this.add({ activity: 'start' });
  }

  async sendActivityEnd(): Promise<void> {
    this.add({ activity: 'end' });
  }

  async *receive(): AsyncGenerator<LlmResponse, void, void> {
    for await (const response of this.out) {
      if (this.out.size <= RESUME_AT) this.socket?.resume();
      yield response;
    }
  }

  async close(): Promise<void> {
    this.link({ type: 'close' });
  }

  /** Elapsed time, which does not jump when the clock of the machine is set. */
  private get now(): number {
    return elapsed(this.timer);
  }

  private add(input: UserInput): void {
    this.run(this.session.add(input, this.now));
  }

  private link(input: LinkInput): void {
    for (const effect of this.sockets.push(input, this.now)) this.runLink(effect);
    this.arm();
  }

  private run(effects: SessionEffect[]): void {
    for (const effect of effects) {
      if (effect.type === 'send') this.socket?.send(effect.input);
      else if (effect.type === 'emit') this.out.push(effect.response);
      else this.link(effect.input);
    }
    this.arm();
  }

  private runLink(effect: LinkEffect): void {
    const { session, provider } = this;
    switch (effect.type) {
      case 'open':
        return this.open(effect.n, effect.handle);
      case 'drop':
        this.socket?.close(effect.isDead);
        this.socket = undefined;
        return this.run(session.socketLost());
      case 'ping':
        return this.socket?.ping();
      case 'ready':
        provider.onAccepted?.();
        return this.run(session.socketOpened(effect.isResumed, this.now));
      case 'waiting':
        return this.out.push(waitingResponse('unreachable', this.timer.now() + effect.until - this.now));
      case 'forget':
        return this.out.push({ liveSessionResumptionUpdate: { resumable: false } });
      case 'over':
        if (effect.failure && provider.simplifySetup?.(effect.failure)) return this.restart();
        this.isOver = true;
        this.cancelWake();
        this.run(session.end());
        if (effect.failure) this.out.fail(effect.failure);
        else this.out.close();
        return;
      default:
        return exhaustive(effect);
    }
  }

  /** Connects again, with a setup that the provider has simplified. */
  private restart(): void {
    this.sockets = new LiveLink(this.limits, this.provider.closeReasons);
    this.link({ type: 'busy', isBusy: this.session.isBusy });
    this.link({ type: 'start', handle: null });
  }

  private open(n: number, handle: string | null): void {
    this.socket = this.provider.open(
      { handle },
      {
        onOpen: () => this.link({ type: 'opened', n }),
        onPong: () => this.link({ type: 'alive', n }),
        onUnreadable: () => this.link({ type: 'unreadable', n }),
        onMessage: (message) => this.read(n, message),
        onClose: (close) => {
          this.run(this.session.socketLost());
          this.link({ type: 'closed', n, close });
        },
      },
    );
  }

  private read(n: number, message: LiveMessage): void {
    this.link({ type: 'alive', n });
    let effects: SessionEffect[];
    try {
      effects = this.session.receive(message, this.now);
    } catch {
      // The message is well formed but impossible here, e.g. too many open calls: treat it like a frame that cannot be read.
      return this.link({ type: 'unreadable', n });
    }
    this.run(effects);
    if (this.out.size > PAUSE_AT) this.socket?.pause();
  }

  /** Sets the timer for the next deadline. A timer that is already set for an earlier time stays: when it fires, the timer is set again. */
  private arm(): void {
    const { sockets, session, timer } = this;
    if (this.isOver) return;
    const never = Number.POSITIVE_INFINITY;
    const at = Math.min(sockets.wakesAt ?? never, session.wakesAt ?? never);
    if (at === never || (this.wakesAt !== null && this.wakesAt <= at)) return;
    this.cancelWake();
    this.wakesAt = at;
    this.cancelWake = timer.after(at - this.now, () => {
      this.wakesAt = null;
      this.run(session.advance(this.now, !this.socket?.isPaused));
      this.link({ type: 'time' });
    });
  }
}
