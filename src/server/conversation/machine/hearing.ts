import type { Heard } from '../../../protocol/index.ts';
import type { Shared } from './shared.ts';

/** Messages whose sound may still be playing somewhere. */
const MAX_MESSAGES = 16;

/** How long each message has spoken: whoever interrupts says how much of that was played, and the rest was not heard. */
export class Hearing {
  /** In milliseconds, the one that spoke last at the end. */
  private readonly spoken = new Map<string, number>();
  /** What was heard of messages that are still being said. */
  private readonly unfinished = new Map<string, number>();
  private readonly parts: Shared;

  constructor(parts: Shared) {
    this.parts = parts;
  }

  /** A message speaks. */
  spoke(messageId: string, ms: number): void {
    const before = this.spoken.get(messageId) ?? 0;
    this.spoken.delete(messageId);
    this.spoken.set(messageId, before + ms);
    const [oldest] = this.spoken.keys();
    if (this.spoken.size > MAX_MESSAGES && oldest !== undefined) this.spoken.delete(oldest);
  }

  /** Cuts off what was said and not heard. */
  cut({ messageId = [...this.spoken.keys()].at(-1), playedMs }: Heard): void {
    const ms = messageId === undefined ? undefined : this.spoken.get(messageId);
    if (messageId === undefined || ms === undefined || playedMs === undefined || playedMs >= ms) return;
    if (this.isBeingSaid(messageId)) {
      this.unfinished.set(messageId, playedMs);
      return;
    }
    this.spoken.set(messageId, playedMs);
    this.parts.core.storing([{ do: 'cut', messageId, share: playedMs / ms }], { what: 'heard', messageId });
  }

  /** The agent may have ended what it was saying: what was not heard of it is cut off now, and nothing is written behind it. */
  settle(): void {
    for (const [messageId, playedMs] of this.unfinished) {
      if (this.isBeingSaid(messageId)) continue;
      this.unfinished.delete(messageId);
      this.cut({ messageId, playedMs });
    }
  }

  private isBeingSaid(messageId: string): boolean {
    const { messages } = this.parts;
    return messages.isAtWork && messages.speaking?.message.id === messageId;
  }

  /** So much of the text of a message is left. */
  wasCut(messageId: string, length: number): void {
    this.parts.messages.inject({ type: 'data-heard', data: { messageId, length }, transient: true });
  }
}
