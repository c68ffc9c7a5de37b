// @vitest-environment jsdom
import { act } from 'react';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { useNotices } from '../src/chat/use-notices.ts';
import { ErrorCard } from '../src/errors/error-card.tsx';
import { mount, mountHook } from './support/mount.tsx';

describe('what the server says went wrong', () => {
  const reported = (message: string) => ({
    type: 'data-error' as const,
    data: { code: 'too_large' as const, message, retryable: false },
    transient: true as const,
  });

  test('is not told beside the answers when the conversation says the same itself', async () => {
    const notices = await mountHook(useNotices);
    await act(async () => {
      notices.result.hear(reported('The message is too long.'));
      notices.result.hear(reported('The picture is too large.'));
    });
    await act(async () => notices.result.settle(new Error('The message is too long.')));
    expect(notices.result.list.map(({ error }) => error.message)).toEqual(['The picture is too large.']);
  });

  test.each([
    ['can be tried again where there is something to try', () => undefined, ['Dismiss', 'Try again']],
    ['can only be dismissed where there is nothing', null, ['Dismiss']],
  ])('%s', async (_, onRetry, names) => {
    const error = Object.assign(new Error('said the server'), { code: 'internal' });
    await mount(<ErrorCard error={error} onRetry={onRetry} onDismiss={() => undefined} />);
    const buttons = [...document.querySelectorAll('button')];
    expect(buttons.map((button) => button.getAttribute('aria-label') ?? button.textContent)).toEqual(names);
  });

  test.each([
    ['of code internal', 'internal', 'Something went wrong on the server'],
    ['of the model', 'model_error', 'The model could not answer'],
    ['of a limit', 'rate_limited', 'Too many requests'],
  ])('%s has a title that names what failed', async (_, code, title) => {
    const error = Object.assign(new Error('said the server'), { code });
    await mount(<ErrorCard error={error} onRetry={null} onDismiss={() => undefined} />);
    expect([...document.querySelectorAll('h2')].at(-1)?.textContent).toBe(title);
  });

  test.each([
    ['has no details when they would only say it again', new Error('The key was refused.'), 0],
    ['has details when they say more', Object.assign(new Error('said the server'), { code: 'internal' }), 1],
  ])('%s', async (_, error, count) => {
    await mount(<ErrorCard error={error} onRetry={null} onDismiss={() => undefined} />);
    expect(document.querySelectorAll('details')).toHaveLength(count);
  });

  test.each([
    ['a message', 'message', true],
    ['a conversation that is opened', 'conversation', false],
  ] as const)('about %s speaks of a message that is kept only if there is one', async (_, about, isKept) => {
    for (const error of [
      new TypeError('fetch failed'),
      Object.assign(new Error(), { code: 'rate_limited' }),
    ]) {
      await mount(<ErrorCard error={error} about={about} onRetry={null} onDismiss={() => undefined} />);
      const { textContent } = [...document.querySelectorAll('[data-testid=error-card]')].at(-1) as Element;
      expect(textContent?.includes('Your message is saved here.')).toBe(isKept);
    }
  });

  test('can be tried again when the time is over, also when the page was drawn just then', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const error = Object.assign(new Error('said the server'), { code: 'rate_limited', retryAfterMs: 1000 });
    const card = () => <ErrorCard error={error} onRetry={() => undefined} onDismiss={() => undefined} />;
    const again = await mount(card());
    expect(document.querySelectorAll('button')[1]?.textContent).toBe('Try again in 1 s');
    vi.setSystemTime(Date.now() + 1000);
    await again(card());
    expect(document.querySelectorAll('button')[1]?.textContent).toBe('Try again');
  });
});
