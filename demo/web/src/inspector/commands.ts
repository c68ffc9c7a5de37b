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
    return {
      tool: 'wscat',
      text: `wscat -s duologue.v2 -c ${quoted(url.href)} -w 30 -x ${quoted(unnamed(body))}`,
    };
  }
  const words = ['curl', '-N'];
  if (sent.method !== 'GET') words.push('-X', sent.method);
  words.push(quoted(origin + sent.path));
  if (sent.body !== null)
    words.push('-H', quoted('content-type: application/json'), '-d', quoted(unnamed(sent.body)));
  return { tool: 'curl', text: words.join(' ') };
}

/** The same without the name of its request, by which the server would know it and pass it over (B24). */
function unnamed(json: string): string {
  const bare = ({ requestId, ...others }: { requestId?: unknown }) => others;
  try {
    const { data, ...rest } = JSON.parse(json) as { data?: object };
    return JSON.stringify(data === undefined ? bare(rest) : { ...rest, data: bare(data) });
  } catch {
    // A recording may hold anything.
    return json;
  }
}

/** A word of a POSIX shell that stands for this text. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
