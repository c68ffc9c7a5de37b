import { type ReactNode, useMemo } from 'react';

/** More than this is shown without colours. */
const MAX_COLOURED = 30_000;
const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** JSON as people read it; what is no JSON stays as it is. */
export function Json({ text }: { text: string }) {
  const content = useMemo(() => coloured(pretty(text)), [text]);
  return <pre className="font-mono text-xs leading-5 break-words whitespace-pre-wrap">{content}</pre>;
}

/** The text with line breaks and indents, when it is JSON. */
export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function coloured(text: string): ReactNode {
  if (text.length > MAX_COLOURED || !/^[[{]/.test(text)) return text;
  const parts: ReactNode[] = [];
  let from = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [whole, string, colon] = match;
    const token = colon === undefined ? whole : (string ?? whole);
    parts.push(text.slice(from, match.index));
    parts.push(
      <span key={match.index} className={colorOf(string, colon)}>
        {token}
      </span>,
    );
    from = match.index + token.length;
  }
  parts.push(text.slice(from));
  return parts;
}

function colorOf(string: string | undefined, colon: string | undefined): string {
  if (colon !== undefined) return 'text-(--code-title)';
  return string === undefined ? 'text-(--code-number)' : 'text-(--code-string)';
}
