import type { LiveFamily } from '../gemini/families.ts';
import type { GeminiCalls } from './calls.ts';
import type { GeminiDebt } from './pending-input.ts';
import type { GeminiMessages } from './turn-output.ts';

/** How long a model that was asked something may say nothing: usually, and after its session was taken up again. */
const SILENT_MS = 60_000;
const RESUMED_MS = 10_000;
/** How long a model may pause that says something nobody asked for, or was interrupted, before that counts as over. */
const UNASKED_MS = 3000;
/** How long what a model has made may play before it says that its turn is over. */
const PLAYING_MS = 600_000;

/** What the patience with a silent model depends on. */
export interface SilenceContext {
  messages: GeminiMessages;
  calls: GeminiCalls;
  debt: GeminiDebt;
  family: LiveFamily;
  /** The tools whose calls go on beside the conversation. */
  nonBlocking: ReadonlySet<string>;
}

/** How long a live model may be silent: in the middle of a turn, and when it owes one. */
export class GeminiSilence {
  private readonly context: SilenceContext;
  private movedAt = 0;

  constructor(context: SilenceContext) {
    this.context = context;
  }

  /** Something came, or was sent that the model has to think about. */
  moved(now: number): void {
    this.movedAt = now;
  }

  /** When the model has been silent for too long; null while it owes nothing, or waits for us. */
  get endsAt(): number | null {
    const { messages, debt, calls } = this.context;
    if (messages.isCut && !debt.isOpen) return this.movedAt + UNASKED_MS;
    if (calls.areOpen && !this.isDueBeside()) return null;
    // Over another socket than the one that was lost, nobody may say that it is over.
    if (messages.isPlaying && !debt.isOpen) return this.movedAt + (debt.isFresh ? UNASKED_MS : PLAYING_MS);
    if (messages.isBusy && !debt.isAsked) return this.movedAt + UNASKED_MS;
    if (!messages.isBusy && !debt.isOpen) return null;
    return this.movedAt + (debt.isFresh ? RESUMED_MS : SILENT_MS);
  }

  /** Whether the model has something to say while calls are open: it speaks, or was told something that it need not wait with. */
  private isDueBeside(): boolean {
    const { messages, debt, calls, family, nonBlocking } = this.context;
    // One that says when it rests is at work until its calls are answered.
    if (messages.isBusy && !family.saysWhenIdle) return true;
    return debt.hasAsked && !calls.holdUp(nonBlocking);
  }
}
