import type { SessionEntry } from 'duologue/client';

/** When a conversation was last used, roughly. */
export type Day = 'today' | 'yesterday' | 'earlier';

/** The conversations by the day they were last used; days without any are left out. */
export function byDay(
  list: readonly SessionEntry[],
  now: Date,
): { day: Day; entries: readonly SessionEntry[] }[] {
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const before = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1).getTime();
  const dayOf = ({ updatedAt }: SessionEntry): Day =>
    updatedAt >= midnight ? 'today' : updatedAt >= before ? 'yesterday' : 'earlier';
  return (['today', 'yesterday', 'earlier'] as const)
    .map((day) => ({ day, entries: list.filter((entry) => dayOf(entry) === day) }))
    .filter(({ entries }) => entries.length > 0);
}
