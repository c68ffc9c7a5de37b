import type { LiveFamily } from './gemini-families.ts';
import type { Frame } from './gemini-frames.ts';

/** When the person speaks, in signals that the server takes. */
export class GeminiActivity {
  private readonly family: LiveFamily;
  private readonly detectsActivity: boolean;
  /** Whether the person speaks, where the client says so. */
  private isTalking = false;

  constructor(options: { family: LiveFamily; detectsActivity: boolean }) {
    this.family = options.family;
    this.detectsActivity = options.detectsActivity;
  }

  /** What the server is told when the person begins or ends, or interrupts; null is nothing. `isBusy`: the model is at work. */
  frame(which: 'start' | 'end', isBusy: boolean): Frame | null {
    if (!this.detectsActivity) {
      const isTalking = which === 'start';
      // Whoever interrupts while they speak has said so already.
      if (isTalking === this.isTalking) return null;
      this.isTalking = isTalking;
      return { realtimeInput: isTalking ? { activityStart: {} } : { activityEnd: {} } };
    }
    if (which === 'end') return { realtimeInput: { audioStreamEnd: true } };
    // A model that listens by itself takes no such signal. Content interrupts an older one; a newer one is stopped by the
    // next word, typed or spoken, and is not heard until then.
    return !this.family.typesInRealtime && isBusy ? { clientContent: { turnComplete: false } } : null;
  }
}
