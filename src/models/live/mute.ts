import type { LlmResponse } from '@google/adk';
import { withLiveFacts } from '../../adk/live-facts.ts';

/** The end that whoever interrupted waits for. */
const END = (): LlmResponse => ({
  turnComplete: true,
  ...withLiveFacts({ continues: false, wasIdle: true }),
});

/** Whether the person interrupted something that the model has not ended: nobody hears the model until it does. */
export class GeminiHush {
  /** `asked`: the person asked something else since, and its answer is to be heard. */
  private state: 'none' | 'hushed' | 'asked' = 'none';

  /** The person interrupts. */
  begin(): void {
    this.state = 'hushed';
  }

  /** The person asks something. */
  asked(): void {
    if (this.state === 'hushed') this.state = 'asked';
  }

  /** The model has ended what was interrupted. */
  ended(): void {
    this.state = 'none';
  }

  /** What was interrupted is over, whether or not the model says so: returns its end, if there is one to tell. */
  lift(): LlmResponse[] {
    if (this.state === 'none') return [];
    this.state = 'none';
    return [END()];
  }

  /** So it is, if an answer is to be heard. */
  liftForAnswer(): LlmResponse[] {
    return this.state === 'asked' ? this.lift() : [];
  }
}
