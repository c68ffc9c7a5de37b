import type { MessagePart } from 'duologue/protocol';

const LENGTH = 160;

/** A thought of one line that came to its end; null for any other part. It is told with the facts of the answer. */
export function briefThought(part: MessagePart): string | null {
  if (part.type !== 'reasoning' || part.state === 'streaming') return null;
  const text = part.text.trim();
  return text.length > LENGTH || text.includes('\n') ? null : text;
}
