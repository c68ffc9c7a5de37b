import type { Token, Tokens } from 'marked';
import { Fragment, type ReactNode } from 'react';
import { decodeEntities } from './entities.ts';
import { TaskBox } from './task-box.tsx';

/** Shows inline tokens of Markdown. Raw HTML is shown as text. */
export function Inline({ tokens }: { tokens: readonly Token[] | undefined }): ReactNode {
  return tokens?.map((token, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no identity but their place
    <Fragment key={index}>{inline(token as Tokens.Generic)}</Fragment>
  ));
}

function inline(token: Tokens.Generic): ReactNode {
  switch (token.type) {
    case 'strong':
      return (
        <strong className="font-semibold">
          <Inline tokens={token.tokens} />
        </strong>
      );
    case 'em':
      return (
        <em>
          <Inline tokens={token.tokens} />
        </em>
      );
    case 'del':
      return (
        <del>
          <Inline tokens={token.tokens} />
        </del>
      );
    case 'codespan':
      return (
        <code dir="ltr" className="rounded-md bg-sunken px-1.5 py-0.5 font-mono text-[0.875em] break-words">
          {token.text}
        </code>
      );
    case 'br':
      return <br />;
    case 'link':
      return <Link href={token.href}>{token.tokens ? <Inline tokens={token.tokens} /> : token.text}</Link>;
    case 'image':
      return <Link href={token.href}>{token.text || token.href}</Link>;
    case 'text':
      return token.tokens ? <Inline tokens={token.tokens} /> : decodeEntities(token.text);
    case 'checkbox':
      return <TaskBox isDone={token.checked === true} />;
    case 'escape':
      return token.text;
    default:
      return token.raw;
  }
}

/** A link that opens in a new tab. The text of a link whose address could run code is shown without the link. */
function Link({ href, children }: { href: string; children: ReactNode }) {
  const isSafe = /^(https?:|mailto:)/i.test(href);
  if (!isSafe) return <span>{children}</span>;
  return (
    <a
      href={href}
      target="_blank"
      rel="noreferrer noopener"
      className="text-accent underline decoration-accent-line underline-offset-3 hover:decoration-accent"
    >
      {children}
    </a>
  );
}
