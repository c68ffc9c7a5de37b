import type { LlmResponse } from '@google/adk';
import { withLiveFacts } from '../adk/live-facts.ts';
import type { WaitingReason } from '../protocol/index.ts';
import type { ModelFailure } from './provider-error.ts';

/** The clock of a model call. */
export interface Timer {
  /** Milliseconds since 1970, for times that are shown. The clock may be set back. */
  now(): number;
  /** Milliseconds since an arbitrary moment, to measure durations. It never goes back; without it `now` is used. */
  elapsed?(): number;
  /** Calls `callback` after `ms` milliseconds. The returned function cancels that. */
  after(ms: number, callback: () => void): () => void;
}

/** The timeouts of a model call, and how often the call is repeated when the provider fails before the first token of the answer. */
export interface RetryPolicy {
  /** How often a call is repeated at most; 3 by default. */
  retries: number;
  /** The longest wait before a repetition; 30 seconds by default. When a provider asks for a longer wait, the call fails. */
  maxWaitMs: number;
  /** How long the first token may take, 2 minutes by default; null: no limit. */
  firstTokenMs: number | null;
  /** How long each further token may take, 1 minute by default; null: no limit. */
  nextTokenMs: number | null;
  timer: Timer;
  /** Returns a number from 0 to 1. It spreads the repetitions of calls that failed together. */
  random: () => number;
}

const FIRST_WAIT_MS = 1000;

/** The clock of the machine. Its timers do not keep the process alive. */
export const systemClock: Required<Timer> = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(ms, 0), 2 ** 31 - 1));
    timer.unref?.();
    return () => clearTimeout(timer);
  },
};

const DEFAULTS: RetryPolicy = {
  retries: 3,
  maxWaitMs: 30_000,
  firstTokenMs: 120_000,
  nextTokenMs: 60_000,
  timer: systemClock,
  random: Math.random,
};

/** The elapsed milliseconds of a timer, by `now` if it has no `elapsed`. */
export function elapsed(timer: Timer): number {
  return timer.elapsed?.() ?? timer.now();
}

export function retryPolicyOf(given: Partial<RetryPolicy> = {}): RetryPolicy {
  return { ...DEFAULTS, ...given };
}

/** How long to wait before the next attempt; undefined when the call is not repeated. */
export function waitBefore(tries: number, failure: ModelFailure, policy: RetryPolicy): number | undefined {
  if (failure.reason === undefined || tries > policy.retries) return undefined;
  const { retryAfterMs } = failure;
  if (retryAfterMs !== undefined) return retryAfterMs > policy.maxWaitMs ? undefined : retryAfterMs;
  const longest = Math.min(FIRST_WAIT_MS * 2 ** (tries - 1), policy.maxWaitMs);
  return Math.round(longest * (0.5 + policy.random() / 2));
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
