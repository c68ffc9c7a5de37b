import type { LlmResponse } from '@google/adk';
import { withLiveFacts } from '../../adk/live-facts.ts';

/**
 * Whether the user interrupted output that the model has not ended. The server discards output until it gets a `turnComplete`,
 * so this tracks whether one is due: the model may never send it.
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

  /** Does the same if an answer is expected; otherwise the output stays muted. */
  releaseForAnswer(): LlmResponse[] {
    return this.state === 'asked' ? this.release() : [];
  }
}
