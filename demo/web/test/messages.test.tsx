// @vitest-environment jsdom
import axe from 'axe-core';
import type { Message } from 'duologue/protocol';
import { Tooltip } from 'radix-ui';
import { act, type ReactNode } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import Answer from '../src/chat/answer.tsx';
import { UserMessage } from '../src/chat/user-message.tsx';
import { LanguageProvider } from '../src/i18n/language.tsx';
import { until } from './support/mount.tsx';

let root: Root;

beforeEach(() => {
  window.matchMedia = () => ({ matches: false }) as MediaQueryList;
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  document.body.innerHTML = '<main></main>';
  root = createRoot(document.querySelector('main') as HTMLElement);
});

afterEach(() => act(async () => root.unmount()));

const show = (content: ReactNode) =>
  act(async () =>
    root.render(
      <LanguageProvider>
        <Tooltip.Provider>{content}</Tooltip.Provider>
      </LanguageProvider>,
    ),
  );
const button = (name: string) =>
  [...document.querySelectorAll('button')].find(
    (one) => (one.getAttribute('aria-label') ?? one.textContent) === name,
  );
const click = (name: string) => act(async () => button(name)?.click());
const area = () => document.querySelector('textarea');

async function write(text: string): Promise<void> {
  await act(async () => {
    Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value')?.set?.call(area(), text);
    area()?.dispatchEvent(new Event('input', { bubbles: true }));
  });
}

const pressEnter = () =>
  act(async () => area()?.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true })));

describe('a message of the person', () => {
  const message: Message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Send $30 to Alice' }] };

  test.each([
    ['of few words is shown whole', 'word '.repeat(20), null],
    ['of many words is folded', 'word '.repeat(300), 'false'],
    ['of many lines is folded', 'word\n'.repeat(20), 'false'],
  ])('%s', async (_, text, isUnfolded) => {
    const long: Message = { ...message, parts: [{ type: 'text', text }] };
    await show(<UserMessage message={long} onEdit={null} onRetry={null} />);
    expect(button('Show all')?.getAttribute('aria-expanded') ?? null).toBe(isUnfolded);
    await click('Show all');
    expect(button('Show less')?.getAttribute('aria-expanded') ?? null).toBe(isUnfolded && 'true');
  });

  test('keeps what is being changed in it while an answer comes, and is sent after that', async () => {
    const onEdit = vi.fn();
    await show(<UserMessage message={message} onEdit={onEdit} onRetry={null} />);
    await click('Edit');
    await write('Send $40 to Alice');
    await show(<UserMessage message={message} onEdit={null} onRetry={null} />);
    await pressEnter();
    expect([area()?.value, button('Send again')?.disabled]).toEqual(['Send $40 to Alice', true]);
    expect(document.body.textContent).toContain('You can send this when the answer is complete.');
    await show(<UserMessage message={message} onEdit={onEdit} onRetry={null} />);
    await pressEnter();
    expect(onEdit).toHaveBeenCalledExactlyOnceWith(message, 'Send $40 to Alice');
    expect(area()).toBe(null);
  });

  test('can be answered again when nothing answered it', async () => {
    const onRetry = vi.fn();
    await show(<UserMessage message={message} onEdit={null} onRetry={null} />);
    expect(button('Answer again')).toBeUndefined();
    await show(<UserMessage message={message} onEdit={null} onRetry={onRetry} />);
    await click('Try again');
    expect(onRetry).toHaveBeenCalledOnce();
    const { violations } = await axe.run(document.body, {
      rules: { 'color-contrast': { enabled: false }, region: { enabled: false } },
    });
    expect(violations).toEqual([]);
  });
});

describe('an answer', () => {
  test('names its files and documents, and says that there is something it cannot show', async () => {
    const table = {
      type: 'file',
      mediaType: 'text/csv',
      url: 'data:text/csv,a',
      filename: 'table.csv',
    } as const;
    const risky = { type: 'file', mediaType: 'text/html', url: 'javascript:alert(1)' } as const;
    await show(
      view(
        answer(
          table,
          risky,
          { type: 'source-document', sourceId: 's1', mediaType: 'application/pdf', title: 'The report' },
          { type: 'data-hologram', data: {} } as unknown as Message['parts'][number],
          { type: 'step-start' },
        ),
      ),
    );
    const links = [...document.querySelectorAll('a')].map(({ textContent, href, download }) => [
      textContent,
      href,
      download,
    ]);
    expect(links).toEqual([['table.csv', 'data:text/csv,a', 'table.csv']]);
    expect(document.querySelector('nav')?.textContent).toBe('The report');
    expect(document.querySelector('article')?.textContent).toBe(
      'table.csvtext/htmlThis page can’t show this content.The report',
    );
  });

  const answer = (...parts: Message['parts']): Message => ({ id: 'm2', role: 'assistant', parts });
  const payment = (state: object) =>
    ({
      type: 'tool-process_payment',
      toolCallId: 'c1',
      input: { amount: 30, recipient: 'Alice' },
      approval: { id: 'a1' },
      ...state,
    }) as unknown as Message['parts'][number];
  const view = (
    message: Message,
    onRegenerate: (id: string) => void = vi.fn(),
    onContinue: (() => void) | null = null,
  ) => (
    <Answer
      message={message}
      isGrowing={false}
      onDecide={vi.fn()}
      onContinue={onContinue}
      onAskAgain={null}
      onRegenerate={onRegenerate}
    />
  );

  test.each<[string, NonNullable<Message['metadata']>, string | null, string | null]>([
    ['is whole', {}, null, null],
    ['was stopped by the person', { interrupted: true }, null, 'Stopped'],
    ['reached the limit of tokens', { finishReason: 'length' }, 'length', null],
    ['was filtered', { finishReason: 'content-filter' }, 'filter', null],
    ['went on after it was cut', { finishReason: 'stop', failed: false }, null, null],
    ['broke off at the provider', { failed: true }, 'provider', null],
    ['broke off with the server', { interrupted: true, cutOff: true }, 'crash', null],
  ])('that %s says so, and offers to continue where it was cut', async (_, metadata, ending, note) => {
    const onContinue = vi.fn();
    await show(view({ ...answer({ type: 'text', text: 'Yes.' }), metadata }, vi.fn(), onContinue));
    if (ending !== null) await click('Continue');
    else expect(button('Continue')).toBeUndefined();
    expect(onContinue).toHaveBeenCalledTimes(ending === null ? 0 : 1);
    expect(document.querySelector<HTMLElement>('[data-testid=ending]')?.dataset.ending ?? null).toBe(ending);
    if (ending !== null)
      expect(document.querySelector('[data-testid=ending]')?.textContent).toMatch(/^Cut off: /);
    expect(document.querySelector('footer')?.textContent || null).toBe(note);
    expect(button('Try again')).toBeUndefined();
  });

  test('with several approvals says on each that asks which it is', async () => {
    const asking = (toolCallId: string) => ({ ...payment({ state: 'approval-requested' }), toolCallId });
    const places = () =>
      [...document.querySelectorAll('[data-testid=approval-card]')].map(
        (card) => /\d of \d/.exec(card.textContent)?.[0],
      );
    Element.prototype.scrollIntoView = () => {};
    await show(view(answer(asking('c1') as never, asking('c2') as never)));
    expect(places()).toEqual(['1 of 2', '2 of 2']);
    await show(view(answer(asking('c3') as never)));
    expect(places().at(-1)).toBeUndefined();
    // Over BIDI the server sends one request at a time, and says how many follow.
    const queued = { ...asking('c4'), approval: { id: 'a4', descriptor: { queued: 2 } } };
    await show(view(answer(queued as never)));
    expect(places().at(-1)).toBe('1 of 3');
  });

  test('of which nothing came says that, and can be asked for again', async () => {
    const onRegenerate = vi.fn();
    await show(view({ ...answer(), metadata: { failed: true } }, onRegenerate));
    expect(document.querySelector('[data-testid=ending]')?.textContent).toContain('No answer');
    await act(async () => button('Try again')?.click());
    expect(onRegenerate).toHaveBeenCalledOnce();
  });

  test('tells a thought of one line with its facts, and folds a longer one', async () => {
    const thought = (text: string) => ({ type: 'reasoning', text, state: 'done' }) as const;
    await show(view(answer(thought('Easy.'), { type: 'text', text: 'Yes.' })));
    expect([button('Thoughts'), document.querySelector('footer')?.textContent]).toEqual([undefined, 'Easy.']);
    await show(view(answer(thought('One.\nTwo.'), { type: 'text', text: 'Yes.' })));
    expect([button('Thoughts') === undefined, document.querySelector('footer')?.textContent]).toEqual([
      false,
      '',
    ]);
  });

  test('is given again at once when nothing was done in it', async () => {
    const onRegenerate = vi.fn();
    await show(
      view(answer(payment({ state: 'output-error', errorText: 'User denied the tool call' })), onRegenerate),
    );
    await click('Answer again');
    expect(onRegenerate).toHaveBeenCalledExactlyOnceWith('m2');
  });

  test('is given again only after a word about what was done and stays done', async () => {
    const onRegenerate = vi.fn();
    await show(view(answer(payment({ state: 'output-available', output: {} })), onRegenerate));
    await click('Answer again');
    expect(onRegenerate).not.toHaveBeenCalled();
    await until(() => expect(document.querySelector('[role=alertdialog]')).not.toBe(null));
    const dialog = document.querySelector('[role=alertdialog]');
    expect(dialog?.textContent).toContain('Completed actions, such as payments, are not undone.');
    const yes = [...(dialog?.querySelectorAll('button') ?? [])].find(
      (one) => one.textContent === 'Answer again',
    );
    await act(async () => yes?.click());
    expect(onRegenerate).toHaveBeenCalledExactlyOnceWith('m2');
  });
});
