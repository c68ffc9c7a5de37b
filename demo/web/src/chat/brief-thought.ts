import type { MessagePart } from 'duologue/protocol';

const LENGTH = 160;

/**
 * The text of a finished reasoning part of one line; null for any other part. Such a thought is shown in the footer
 * of the message.
 */
export function briefThought(part: MessagePart): string | null {
  if (part.type !== 'reasoning' || part.state === 'streaming') return null;
  const text = part.text.trim();
  return text.length > LENGTH || text.includes('\n') ? null : text;
}
