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

/** When something was, as short as it can be said: the time of a day that is named above, else the day. */
export function timeOf(at: number, language: string, now = new Date()): string {
  const date = new Date(at);
  const before = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1);
  if (date >= before) return date.toLocaleTimeString(language, { timeStyle: 'short' });
  const isThisYear = date.getFullYear() === now.getFullYear();
  return date.toLocaleDateString(language, {
    month: 'short',
    day: 'numeric',
    ...(isThisYear ? {} : { year: 'numeric' }),
  });
}
