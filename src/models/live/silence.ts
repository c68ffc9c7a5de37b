import type { LlmResponse } from '@google/adk';
import { withLiveFacts } from '../../adk/live-facts.ts';
import type { LiveCalls } from './calls.ts';
import type { PendingInput } from './pending-input.ts';
import type { LiveTraits } from './provider.ts';
import type { TurnOutput } from './turn-output.ts';

/**
 * Whether the user interrupted output that the model has not ended. After an interruption, Duologue's server discards model output until it gets a
 * `turnComplete`. The model may never send one, so this class tracks whether the live connection has to emit it.
 */
export class Mute {
  /** `asked`: the user sent something after the interruption, and its answer must not be muted. */
  private state: 'off' | 'on' | 'asked' = 'off';

  /** Call it when the user interrupts. */
  start(): void {
    this.state = 'on';
  }

  /** Call it when the user sends something that the model will answer. */
  expectAnswer(): void {
    if (this.state === 'on') this.state = 'asked';
  }

  /** Call it when the model ended the interrupted output. */
  end(): void {
    this.state = 'off';
  }

  /** Ends the interrupted output in place of the model: returns the missing `turnComplete`, or nothing when no output was interrupted. */
  release(): LlmResponse[] {
    if (this.state === 'off') return [];
    this.state = 'off';
    return [{ turnComplete: true, ...withLiveFacts({ continues: false, wasIdle: true }) }];
  }

  /** Like `release`, but only when an answer is expected; otherwise the output stays muted. */
  releaseForAnswer(): LlmResponse[] {
    return this.state === 'asked' ? this.release() : [];
  }
}

/** How long a model with pending input may be silent: normally, and after its session was resumed. */
const ANSWER_MS = 60_000;
const RESUMED_MS = 10_000;
/** How long a model may pause before its turn is taken to be over, if it was interrupted or speaks without pending input. */
const UNASKED_MS = 3000;
/** How long the model may take to end its turn after it has generated all audio, because the audio is still playing. */
const PLAYING_MS = 600_000;

/** Computes when a silent model times out: in the middle of a turn, and while input is pending. It only reads the other objects. */
export class SilenceTimeout {
  private readonly turn: TurnOutput;
  private readonly calls: LiveCalls;
  private readonly pending: PendingInput;
  private readonly traits: LiveTraits;
  private since = 0;

  constructor(turn: TurnOutput, calls: LiveCalls, pending: PendingInput, traits: LiveTraits) {
    this.turn = turn;
    this.calls = calls;
    this.pending = pending;
    this.traits = traits;
  }

  /** Restarts the timeout. Call it when the provider sent something, or got something to answer. */
  restart(now: number): void {
    this.since = now;
  }

  /** When the model times out; null while nothing is expected of it, or while it waits for the response to a call. */
  get expiresAt(): number | null {
    const { turn, pending, calls, since } = this;
    if (turn.isCut && !pending.isOpen) return since + UNASKED_MS;
    if (calls.areOpen && !this.isDueBesideCalls()) return null;
    // After a lost socket the server may never send the end of the turn.
    if (turn.isPlaying && !pending.isOpen) return since + (pending.isJustResumed ? UNASKED_MS : PLAYING_MS);
    if (turn.isBusy && !pending.expectsAnswer) return since + UNASKED_MS;
    if (!turn.isBusy && !pending.isOpen) return null;
    return since + (pending.isJustResumed ? RESUMED_MS : ANSWER_MS);
  }

  /** Whether the model has to say something although calls are open: it is speaking, or no call keeps it from answering. */
  private isDueBesideCalls(): boolean {
    const { turn, pending, calls, traits } = this;
    // A model that reports when it is idle stays busy until its calls are answered, and may be silent meanwhile.
    if (turn.isBusy && !traits.reportsIdle) return true;
    return pending.hasMessage && !calls.areBlocking(traits.nonBlocking);
  }
}
