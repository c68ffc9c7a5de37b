import type { SessionEntry } from 'duologue/client';

/** The groups of the list: conversations by the day on which they were last used. */
export type Day = 'today' | 'yesterday' | 'earlier';

/** Groups conversations by the day on which they were last used, and leaves out empty groups. */
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

/** A time in few characters: the time of day for today and yesterday, which the heading names; otherwise the date. */
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
