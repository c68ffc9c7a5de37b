import type { Row } from './rows.ts';

/**
 * A command for the shell that repeats the request or frame of a row; null for a received row, and for a frame that
 * no command can send.
 */
export function commandOf(
  { sent, body }: Row,
  origin: string,
): { tool: 'curl' | 'wscat'; text: string } | null {
  if (!sent) return null;
  if (sent.method === null) {
    const url = new URL(sent.path, origin.replace(/^http/, 'ws'));
    // Without this parameter the command starts at its own position, not at that of this page.
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

/** The JSON without `requestId`: the server ignores a request whose id it has seen (B24). */
function unnamed(json: string): string {
  const bare = ({ requestId, ...others }: { requestId?: unknown }) => others;
  try {
    const { data, ...rest } = JSON.parse(json) as { data?: object };
    return JSON.stringify(data === undefined ? bare(rest) : { ...rest, data: bare(data) });
  } catch {
    // A recording may contain text that is no JSON.
    return json;
  }
}

/** The text, quoted as one word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
