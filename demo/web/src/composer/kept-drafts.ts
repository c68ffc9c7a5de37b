import { forget, keep, kept } from '../storage/storage.ts';
import type { Draft } from './draft.ts';

const keyOf = (sessionId: string) => `duologue.drafts.${sessionId}`;

/** The messages of a session that waited when the page was left. */
export function keptDrafts(sessionId: string | null): readonly Draft[] {
  if (sessionId === null) return [];
  try {
    const drafts: unknown = JSON.parse(kept('sessionStorage', keyOf(sessionId)) ?? '[]');
    return Array.isArray(drafts) ? (drafts as Draft[]) : [];
  } catch {
    return [];
  }
}

/** Keeps the messages that wait for as long as the tab lives; without their pictures when those are too large for it. */
export function keepDrafts(sessionId: string | null, drafts: readonly Draft[]): void {
  if (sessionId === null) return;
  if (drafts.length === 0) return forget('sessionStorage', keyOf(sessionId));
  const bare = drafts.filter(({ text }) => text !== '').map((draft) => ({ ...draft, pictures: [] }));
  if (!write(keyOf(sessionId), drafts)) write(keyOf(sessionId), bare);
}

function write(key: string, drafts: readonly Draft[]): boolean {
  return keep('sessionStorage', key, JSON.stringify(drafts));
}
