import type { LlmResponse } from '@google/adk';
import { withLiveFacts } from '../../adk/live-facts.ts';
import type { LiveCalls } from './calls.ts';
import type { PendingInput } from './pending-input.ts';
import type { LiveTraits } from './provider.ts';
import type { TurnOutput } from './turn-output.ts';

/**
 * Whether the user interrupted output that the model has not ended. Duologue's server discards model output until it gets a
 * `turnComplete`. The model may never send one, so this class tracks whether the live connection has to emit it.
 */
export class Mute {
  /** `asked`: the user sent something since the interruption, and its answer must be heard. */
  private state: 'off' | 'on' | 'asked' = 'off';

  /** The user interrupts. */
  start(): void {
    this.state = 'on';
  }

  /** The user sends something that the model will answer. */
  expectAnswer(): void {
    if (this.state === 'on') this.state = 'asked';
  }

  /** The model ended the interrupted output. */
  end(): void {
    this.state = 'off';
  }

  /** Ends the interrupted output in place of the model: returns the `turnComplete` that is due, if one is. */
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
/** How long a model that speaks without input, or was interrupted, may pause before its turn counts as over. */
const UNASKED_MS = 3000;
/** How long generated audio may play before the model ends its turn. */
const PLAYING_MS = 600_000;

/** The timeout of a silent model: in the middle of a turn, and while input is pending. It only reads the state of the objects that it gets. */
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

  /** The server sent something, or got something to answer. */
  restart(now: number): void {
    this.since = now;
  }

  /** When the model has been silent for too long; null while it has nothing to say, or waits for a response. */
  get expiresAt(): number | null {
    const { turn, pending, calls, since } = this;
    if (turn.isCut && !pending.isOpen) return since + UNASKED_MS;
    if (calls.areOpen && !this.isDueBesideCalls()) return null;
    // After a lost socket the server may never say that the turn is over.
    if (turn.isPlaying && !pending.isOpen) return since + (pending.isJustResumed ? UNASKED_MS : PLAYING_MS);
    if (turn.isBusy && !pending.expectsAnswer) return since + UNASKED_MS;
    if (!turn.isBusy && !pending.isOpen) return null;
    return since + (pending.isJustResumed ? RESUMED_MS : ANSWER_MS);
  }

  /** Whether the model has to say something although calls are open: it is speaking, or no call keeps it from answering. */
  private isDueBesideCalls(): boolean {
    const { turn, pending, calls, traits } = this;
    // A model that reports when it is idle works until its calls are answered.
    if (turn.isBusy && !traits.reportsIdle) return true;
    return pending.hasMessage && !calls.areBlocking(traits.nonBlocking);
  }
}
