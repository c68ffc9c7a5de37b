// @vitest-environment jsdom
import { marked } from 'marked';
import type { ReactNode } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, test } from 'vitest';
import { UserMessage } from '../src/chat/user-message.tsx';
import { Queued } from '../src/composer/queued.tsx';
import { LanguageProvider } from '../src/i18n/language.tsx';
import { Blocks } from '../src/markdown/block.tsx';
import { GrowingBlocks } from '../src/markdown/blocks.ts';
import { decodeEntities } from '../src/markdown/entities.ts';
import { highestHeading } from '../src/markdown/highest-heading.ts';
import { Inline } from '../src/markdown/inline.tsx';
import Markdown from '../src/markdown/markdown.tsx';
import { SessionItem } from '../src/sessions/session-item.tsx';
import { mount } from './support/mount.tsx';

const TEXT = `# Title

A paragraph with **strong** words
on two lines.

1. one
2. two

   more of two

- a
  - b

| x | y |
|---|---|
| 1 | 2 |

\`\`\`ts
const a = 1;

const b = 2;
\`\`\`

> quoted

The end.`;

const raws = (tokens: readonly { raw: string }[]) => tokens.map(({ raw }) => raw);

describe('a text that grows', () => {
  test('has the blocks of the whole text at its end, in whatever pieces it came', () => {
    for (const step of [1, 3, 7, 40]) {
      const blocks = new GrowingBlocks();
      let last: readonly { raw: string }[] = [];
      for (let end = step; end < TEXT.length + step; end += step) last = blocks.push(TEXT.slice(0, end));
      expect(raws(last)).toEqual(raws(marked.lexer(TEXT)));
    }
  });

  test('keeps the blocks before the last one as they are', () => {
    const blocks = new GrowingBlocks();
    const before = blocks.push('One.\n\nTwo.\n\nThr');
    const after = blocks.push('One.\n\nTwo.\n\nThree.\n\nFour');
    expect(after.slice(0, 4)).toEqual(before.slice(0, 4));
    expect(after[0]).toBe(before[0]);
  });

  test('that is replaced begins anew', () => {
    const blocks = new GrowingBlocks();
    blocks.push('One.\n\nTwo.');
    expect(raws(blocks.push('Other.'))).toEqual(['Other.']);
  });
});

describe('blocks', () => {
  const shown = (text: string) => {
    const page = document.createElement('div');
    page.innerHTML = renderToStaticMarkup(
      <LanguageProvider>
        <Blocks tokens={marked.lexer(text)} isGrowing={false} dir="auto" />
      </LanguageProvider>,
    );
    return page;
  };

  test.each([
    ['close together', '- [ ] water\n- [x] **feed**\n- play'],
    ['apart', '- [ ] water\n\n- [x] **feed**\n\n- play'],
  ])('show each task of a list once, with its box, when they stand %s', (_, text) => {
    const items = [...shown(text).querySelectorAll('li')].map((item) => [
      item.textContent,
      [...item.querySelectorAll('input')].map((box) => [box.checked, box.getAttribute('aria-label')]),
    ]);
    expect(items).toEqual([
      ['water', [[false, 'To do']]],
      ['feed', [[true, 'Done']]],
      ['play', []],
    ]);
  });
});

describe('the direction of a text', () => {
  const directed = async (node: ReactNode) => {
    await mount(node);
    return [...document.querySelectorAll('[dir]')].map((one) => [
      one.localName,
      one.getAttribute('dir'),
      one.textContent,
    ]);
  };

  test('is that of its words, for each outer block; code is always written one way', async () => {
    const text = '# عنوان\n\nنص `a = 1`.\n\n- واحد\n\n  اثنان\n\n> قال\n\n| س |\n|---|\n| ص |\n';
    expect(await directed(<Markdown text={text} isGrowing={false} />)).toEqual([
      ['h2', 'auto', 'عنوان'],
      ['p', 'auto', 'نص a = 1.'],
      ['code', 'ltr', 'a = 1'],
      ['ul', 'auto', 'واحداثنان'],
      ['blockquote', 'auto', 'قال'],
      ['table', 'auto', 'سص'],
    ]);
  });

  test('is that of its words, for what the person writes and for titles', async () => {
    const entry = {
      id: 'a',
      title: 'عنوان',
      createdAt: 0,
      updatedAt: 0,
      isWaiting: false,
      hasFailed: false,
    };
    const none = () => undefined;
    const message = { id: 'a', role: 'user' as const, parts: [{ type: 'text' as const, text: 'مرحبا.' }] };
    const queue = [{ id: 'a', text: 'انتظر', pictures: [] }];
    const acts = { add: none, restore: none, remove: none, change: none, moveUp: none, insist: none };
    expect(
      await directed(
        <>
          <UserMessage message={message} onEdit={null} onRetry={null} />
          <Queued queue={{ queue, ...acts }} why={null} onSendNow={null} />
          <SessionItem entry={entry} isCurrent onOpen={none} onRename={none} onRemove={none} />
        </>,
      ),
    ).toEqual([
      ['p', 'auto', 'مرحبا.'],
      ['span', 'auto', 'انتظر '],
      ['button', 'auto', expect.stringMatching(/^عنوان/)],
    ]);
  });
});

describe('inline text', () => {
  const show = (text: string) => {
    const [paragraph] = marked.lexer(text);
    return renderToStaticMarkup(
      <Inline tokens={paragraph && 'tokens' in paragraph ? paragraph.tokens : []} />,
    );
  };

  test('shows raw HTML as text, and makes no link that could run code', () => {
    expect(show('Hi <img src=x onerror=alert(1)> there')).toBe('Hi &lt;img src=x onerror=alert(1)&gt; there');
    expect(show('[click](javascript:alert(1))')).toBe('<span>click</span>');
    expect(show('[click](data:text/html,x)')).toBe('<span>click</span>');
    expect(show('![alt](https://example.com/a.png)')).toContain('href="https://example.com/a.png"');
    expect(show('[ok](https://example.com)')).toContain('rel="noreferrer noopener"');
  });

  test('resolves character references', () => {
    expect(decodeEntities('a &amp; b &lt;c&gt; &#9731; &#x263A; &nope; d')).toBe('a & b <c> ☃ ☺ &nope; d');
  });
});

test('the most important heading of a text is known', () => {
  expect(highestHeading(marked.lexer('### a\n\n## b\n\n#### c'))).toBe(2);
  expect(highestHeading(marked.lexer('no heading'))).toBe(6);
});
