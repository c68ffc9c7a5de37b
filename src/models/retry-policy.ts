import type { LlmResponse } from '@google/adk';
import { withLiveFacts } from '../adk/live-facts.ts';
import type { WaitingReason } from '../protocol/index.ts';
import type { ModelFailure } from './provider-error.ts';

/** Time, as a model call needs it. */
export interface Timer {
  /** Milliseconds since 1970, for what is told. May be set back. */
  now(): number;
  /** Milliseconds since some moment, for what is measured. Never set back; without it `now` is taken. */
  elapsed?(): number;
  /** Calls back after that many milliseconds; the returned function cancels. */
  after(ms: number, callback: () => void): () => void;
}

/** How long a provider is waited for, and how often it is asked again when it fails before it said anything. */
export interface Patience {
  /** How often a call is tried again; 3 by default. */
  retries: number;
  /** The longest wait before another try, 30 seconds by default. A provider that wants a longer one is not asked again. */
  maxWaitMs: number;
  /** How long the first token may take, 2 minutes by default; null is for ever. */
  firstTokenMs: number | null;
  /** How long each further token may take, 1 minute by default; null is for ever. */
  nextTokenMs: number | null;
  timer: Timer;
  /** A number from 0 to 1, so that many who failed together do not come back together. */
  random: () => number;
}

const FIRST_WAIT_MS = 1000;

/** The real time. Its timers do not keep the process alive. */
export const systemClock: Required<Timer> = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(ms, 0), 2 ** 31 - 1));
    timer.unref?.();
    return () => clearTimeout(timer);
  },
};

const DEFAULTS: Patience = {
  retries: 3,
  maxWaitMs: 30_000,
  firstTokenMs: 120_000,
  nextTokenMs: 60_000,
  timer: systemClock,
  random: Math.random,
};

/** The time by which a timer measures. */
export function elapsed(timer: Timer): number {
  return timer.elapsed?.() ?? timer.now();
}

/** Patience with what is not said filled in. */
export function patienceOf(given: Partial<Patience> = {}): Patience {
  return { ...DEFAULTS, ...given };
}

/** How long to wait before the next try; undefined when there is none. */
export function waitBefore(tries: number, failure: ModelFailure, patience: Patience): number | undefined {
  if (failure.reason === undefined || tries > patience.retries) return undefined;
  const { retryAfterMs } = failure;
  if (retryAfterMs !== undefined) return retryAfterMs > patience.maxWaitMs ? undefined : retryAfterMs;
  const longest = Math.min(FIRST_WAIT_MS * 2 ** (tries - 1), patience.maxWaitMs);
  return Math.round(longest * (0.5 + patience.random() / 2));
}

/** The response that announces another attempt at `retryAt`. ADK passes it on as an event that it does not store. */
export function waitingResponse(reason: WaitingReason, retryAt: number): LlmResponse {
  return {
    partial: true,
    // ADK drops a response that has neither content nor token counts.
    usageMetadata: {},
    ...withLiveFacts({ waiting: { reason, retryAt } }),
  };
}
