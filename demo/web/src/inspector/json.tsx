import { type ReactNode, useMemo } from 'react';

/** Longer texts are shown without colours, in characters. */
const MAX_COLOURED = 30_000;
const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Shows JSON with indentation and colours, and any other text as it is. */
export function Json({ text }: { text: string }) {
  const content = useMemo(() => coloured(pretty(text)), [text]);
  return <pre className="font-mono text-xs leading-5 break-words whitespace-pre-wrap">{content}</pre>;
}

/** JSON with line breaks and indentation; any other text unchanged. */
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
