import { http } from '../sessions/http.ts';

/** One line of the approval log, as the server stores it. */
export interface AuditLine {
  at: number;
  kind: 'issued' | 'approved' | 'answered' | 'denied' | 'expired' | 'consumed' | 'refused';
  sessionId: string;
  user: string;
  approvalId: string | null;
  toolCallId: string | null;
  toolName: string | null;
  argsHash: string | null;
  args: unknown;
  reason: string | null;
  /** The application that decided, and the person whom it named. Absent when the user decided on a page. The callback of a sign-in is the application `sign-in`. */
  by?: { application: string; person: string } | null;
}

/** The newest lines of the approval log of a session, oldest first. */
export interface AuditLog {
  lines: readonly AuditLine[];
  /** Whether the server has lines that are older than these. */
  hasOlder: boolean;
}

/** Reads the newest `pages` pages of the approval log of a session. */
export async function readAuditLog(sessionId: string, pages: number, signal: AbortSignal): Promise<AuditLog> {
  const path = `/approvals/${encodeURIComponent(sessionId)}`;
  const texts: string[] = [];
  let older: string | null = null;
  do {
    const response = await http.ask(older === null ? path : `${path}?before=${older}`, { signal });
    texts.unshift(await response.text());
    older = response.headers.get('x-duologue-older');
  } while (older !== null && texts.length < pages);
  const lines = texts
    .join('')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AuditLine);
  return { lines, hasOlder: older !== null };
}

const COLUMNS = [
  'at',
  'kind',
  'toolName',
  'args',
  'reason',
  'user',
  'sessionId',
  'approvalId',
  'toolCallId',
  'argsHash',
  'by',
] as const;

/** The lines as JSON, one on each line of the text. */
export function toJsonLines(lines: readonly AuditLine[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** The lines as CSV, for spreadsheets. */
export function toCsv(lines: readonly AuditLine[]): string {
  const rows = lines.map((line) =>
    COLUMNS.map((column) => cell(column === 'at' ? new Date(line.at).toISOString() : line[column])).join(','),
  );
  return [COLUMNS.join(','), ...rows].map((row) => `${row}\r\n`).join('');
}

function cell(value: unknown): string {
  const text =
    value === null || value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);
  // A spreadsheet would execute a cell that begins with one of these characters as a formula.
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
