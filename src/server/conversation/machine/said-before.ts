import { createHash } from 'node:crypto';
import type { Said } from './inputs.ts';

/** What the person has said in this conversation: a message that comes again is known, and so is one that takes others back. */
export class SaidBefore {
  /** The message that was stored and that nothing answers yet. */
  unanswered: string | null;
  /** A fingerprint of each message of the person, by its id, in order. */
  private readonly messages: Map<string, string>;

  constructor(messages: readonly { id: string; fingerprint: string }[], unanswered: string | null) {
    this.messages = new Map(messages.map(({ id, fingerprint }) => [id, fingerprint]));
    this.unanswered = unanswered;
  }

  has(id: string): boolean {
    return this.messages.has(id);
  }

  /** Whether just this was said under that id. */
  matches(id: string, parts: Said['parts']): boolean {
    return this.messages.get(id) === fingerprint(parts);
  }

  add(id: string, parts: readonly { type: string; text?: string }[]): void {
    this.messages.set(id, fingerprint(parts));
  }

  forget(id: string): void {
    this.messages.delete(id);
  }

  /** Everything from a message on is taken back. */
  forgetFrom(messageId: string): void {
    let isBehind = false;
    for (const id of [...this.messages.keys()]) {
      isBehind ||= id === messageId;
      if (isBehind) this.messages.delete(id);
    }
  }
}

/** What was said, in a few bytes: a long conversation would otherwise be in memory twice. */
export function fingerprint(parts: readonly { type: string; text?: string }[]): string {
  const text = parts.map((part) => (part.type === 'text' ? part.text : '[file]')).join('\n');
  return createHash('sha256').update(text).digest('base64');
}
