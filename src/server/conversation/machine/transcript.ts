import type { Shared } from './shared.ts';

/** How long an answer to what was said is waited for. A model need not answer at all, and does not say so. */
const ANSWER_MS = 8000;

/** The person's speech: shown as it is understood, and kept as their message when it is. */
export class Transcript {
  private heard = '';
  /** Whether something is being `said`, as the client tells, or was said and is `unanswered`. Without such a client only what was understood tells. */
  private speech: 'none' | 'said' | 'unanswered' = 'none';
  private saidAt = Number.NEGATIVE_INFINITY;
  private readonly parts: Shared;

  constructor(parts: Shared) {
    this.parts = parts;
  }

  /** Whether the person is in the middle of saying something, or waits for an answer to it. */
  isUnanswered(now: number): boolean {
    return this.speech === 'said' || (this.speech === 'unanswered' && now < this.saidAt + ANSWER_MS);
  }

  /** The person began to speak, or has finished, as the client tells. */
  marked(activity: 'start' | 'end'): void {
    if (activity === 'start') this.speech = 'said';
    else if (this.speech === 'said') this.wait();
  }

  private wait(): void {
    this.speech = 'unanswered';
    this.saidAt = this.parts.core.now;
  }

  /** The model answers, or has nothing to say. */
  answered(): void {
    if (this.speech === 'unanswered') this.speech = 'none';
  }

  /** Nobody hears it any more. */
  over(): void {
    this.speech = 'none';
  }

  /** Takes what the model heard: more of it, or the whole when it is `finished`. False when it was nothing after all. */
  take(text: string, finished: boolean): boolean {
    const { core, messages, said, open } = this.parts;
    const { speaking } = messages;
    if (finished && text === '') {
      this.heard = '';
      this.answered();
      messages.inject({ type: 'data-transcript', data: { role: 'user', text, finished }, transient: true });
      return false;
    }
    // What the person says beside an open card is answered in a message of its own, as what they type is.
    if (speaking && !messages.isAtWork && open.in(speaking.message.id).length > 0) messages.speaking = null;
    this.heard = finished ? text : this.heard + text;
    // What is understood while the agent answers already is what it answers.
    if (this.speech !== 'said' && !messages.isAtWork) this.wait();
    messages.inject({
      type: 'data-transcript',
      data: { role: 'user', text: this.heard, finished },
      transient: true,
    });
    if (!finished) return true;
    this.heard = '';
    const id = core.newMessageId();
    const parts = [{ type: 'text' as const, text }];
    said.add(id, parts);
    core.storing([{ do: 'keep', id, parts }], null, () => core.emit({ type: 'tell-kept', messageId: id }));
    return true;
  }
}
