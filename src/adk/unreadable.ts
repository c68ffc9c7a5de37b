import type { Part } from '@google/genai';

/** Where a part keeps what only this library reads. */
const OWN = 'duologue';

/** Marks a call whose arguments are broken or cut off. The mark stays with the call, whatever happens to its id. */
export function markUnreadable(part: Part): void {
  part.partMetadata = { ...part.partMetadata, [OWN]: { unreadable: true } };
}

/** Whether a call has arguments that could not be read: its tool never runs. */
export function isUnreadable(part: Part): boolean {
  const own = part.partMetadata?.[OWN] as { unreadable?: unknown } | undefined;
  return own?.unreadable === true;
}
