import type { Row } from './rows.ts';

/** A command that sends once more what a row shows; null for what the server sent, or what no command can say. */
export function commandOf(
  { sent, body }: Row,
  origin: string,
): { tool: 'curl' | 'wscat'; text: string } | null {
  if (!sent) return null;
  if (sent.method === null) {
    const url = new URL(sent.path, origin.replace(/^http/, 'ws'));
    // Where the page was is no place for another client to go on from.
    url.searchParams.delete('last');
    return { tool: 'wscat', text: `wscat -s duologue.v2 -c ${quoted(url.href)} -w 30 -x ${quoted(body)}` };
  }
  const words = ['curl', '-N'];
  if (sent.method !== 'GET') words.push('-X', sent.method);
  words.push(quoted(origin + sent.path));
  if (sent.body !== null) words.push('-H', quoted('content-type: application/json'), '-d', quoted(sent.body));
  return { tool: 'curl', text: words.join(' ') };
}

/** A word of a POSIX shell that stands for this text. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
