import { forget, keep, kept } from '../storage/storage.ts';
import type { Draft } from './draft.ts';

const keyOf = (sessionId: string) => `duologue.drafts.${sessionId}`;

/** The stored drafts of a session, from before the page was reloaded. */
export function keptDrafts(sessionId: string | null): readonly Draft[] {
  if (sessionId === null) return [];
  try {
    const drafts: unknown = JSON.parse(kept('sessionStorage', keyOf(sessionId)) ?? '[]');
    return Array.isArray(drafts) ? (drafts as Draft[]) : [];
  } catch {
    return [];
  }
}

/** Stores drafts for as long as the tab lives. Leaves out their pictures when those do not fit into the storage. */
export function keepDrafts(sessionId: string | null, drafts: readonly Draft[]): void {
  if (sessionId === null) return;
  if (drafts.length === 0) return forget('sessionStorage', keyOf(sessionId));
  const bare = drafts.filter(({ text }) => text !== '').map((draft) => ({ ...draft, pictures: [] }));
  if (!write(keyOf(sessionId), drafts)) write(keyOf(sessionId), bare);
}

function write(key: string, drafts: readonly Draft[]): boolean {
  return keep('sessionStorage', key, JSON.stringify(drafts));
}
