import type { Token, Tokens } from 'marked';
import { memo, type ReactNode, useContext } from 'react';
import { CodeBlock } from './code-block.tsx';
import { HighestHeading } from './highest-heading.ts';
import { Inline } from './inline.tsx';
import { TaskBox } from './task-box.tsx';

/** The direction of a block: outer blocks detect it from their text, and nested blocks inherit it. */
type Direction = 'auto' | undefined;

/** Shows one block of Markdown. It is rendered again only when its text changes or when it stops growing. */
const Block = memo(
  function Block({ token, isGrowing, dir }: { token: Token; isGrowing: boolean; dir: Direction }): ReactNode {
    return block(token as Tokens.Generic, isGrowing, dir);
  },
  (before, after) =>
    before.token.type === after.token.type &&
    before.token.raw === after.token.raw &&
    before.isGrowing === after.isGrowing,
);

function block(token: Tokens.Generic, isGrowing: boolean, dir: Direction): ReactNode {
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'heading':
      return <Heading depth={token.depth} tokens={token.tokens} dir={dir} />;
    case 'paragraph':
      return (
        <p dir={dir}>
          <Inline tokens={token.tokens} />
        </p>
      );
    case 'text':
      return token.tokens ? <Inline tokens={token.tokens} /> : token.text;
    case 'code':
      return <CodeBlock code={token.text} language={token.lang ?? ''} isGrowing={isGrowing} />;
    case 'blockquote':
      return (
        <blockquote dir={dir} className="space-y-3 border-s-3 border-line-strong ps-4 text-soft">
          <Blocks tokens={token.tokens} isGrowing={isGrowing} />
        </blockquote>
      );
    case 'checkbox':
      return <TaskBox isDone={token.checked === true} />;
    case 'list':
      return <List list={token as Tokens.List} isGrowing={isGrowing} dir={dir} />;
    case 'table':
      return <Table table={token as Tokens.Table} dir={dir} />;
    case 'hr':
      return <hr className="border-line" />;
    default:
      return <p dir={dir}>{token.raw}</p>;
  }
}

/** Shows blocks one after the other. */
export function Blocks({
  tokens,
  isGrowing,
  dir,
}: {
  tokens: readonly Token[] | undefined;
  isGrowing: boolean;
  dir?: Direction;
}): ReactNode {
  return tokens?.map((token, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: blocks have no identity but their place
    <Block key={index} token={token} isGrowing={isGrowing && index === tokens.length - 1} dir={dir} />
  ));
}

const SIZES = ['text-xl', 'text-lg', 'text-base', 'text-base', 'text-sm', 'text-sm'];

function Heading({ depth, tokens, dir }: { depth: number; tokens: Token[] | undefined; dir: Direction }) {
  const highest = useContext(HighestHeading);
  // The page has an h1, and screen readers expect that no level is left out below it.
  const Tag = `h${Math.min(6, 2 + Math.max(0, depth - highest))}` as 'h2';
  return (
    <Tag dir={dir} className={`pt-2 leading-snug font-semibold first:pt-0 ${SIZES[depth - 1]}`}>
      <Inline tokens={tokens} />
    </Tag>
  );
}

function List({ list, isGrowing, dir }: { list: Tokens.List; isGrowing: boolean; dir: Direction }) {
  const items = list.items.map((item, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: items have no identity but their place
    <li key={index} className={item.task ? 'list-none' : 'ps-1 marker:text-soft'}>
      <Blocks tokens={item.tokens} isGrowing={isGrowing && index === list.items.length - 1} />
    </li>
  ));
  if (!list.ordered) {
    return (
      <ul dir={dir} className="list-disc space-y-1 ps-6">
        {items}
      </ul>
    );
  }
  return (
    <ol dir={dir} className="list-decimal space-y-1 ps-7" start={Number(list.start) || 1}>
      {items}
    </ol>
  );
}

function Table({ table, dir }: { table: Tokens.Table; dir: Direction }) {
  const align = (index: number) => ({ textAlign: table.align[index] ?? undefined });
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways must be reachable without a pointer
    <div tabIndex={0} className="overflow-x-auto rounded-xl border border-line">
      <table dir={dir} className="w-full border-collapse text-sm">
        <thead className="bg-sunken">
          <tr>
            {table.header.map((cell, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: cells have no identity but their place
              <th key={index} style={align(index)} className="px-3 py-2 text-start font-semibold">
                <Inline tokens={cell.tokens} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, line) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no identity but their place
            <tr key={line} className="border-t border-line">
              {row.map((cell, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: cells have no identity but their place
                <td key={index} style={align(index)} className="px-3 py-2 align-top">
                  <Inline tokens={cell.tokens} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
