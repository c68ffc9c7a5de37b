// @vitest-environment jsdom
import axe from 'axe-core';
import { act } from 'react';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ApprovalCard } from '../src/approval/approval-card.tsx';
import { ReachProvider } from '../src/approval/reach.tsx';
import type { ToolPart } from '../src/tools/tool-part.ts';
import { mount } from './support/mount.tsx';

const ADDRESS = 'https://accounts.example/authorize?state=sealed';

const asking = (signInUrl = ADDRESS): ToolPart => ({
  type: 'tool-read_calendar',
  toolCallId: 'c1',
  state: 'approval-requested',
  input: { day: 'Friday' },
  toolMetadata: { runsOn: 'server', asks: true, agents: ['assistant', 'secretary'] },
  approval: { id: 'a1', descriptor: { message: 'Sign in at accounts.example to continue.', signInUrl } },
});

const WORDS = {
  en: {
    state: 'Needs you to sign in',
    text: 'Sign in at accounts.example in a new window. The assistant then continues here.',
    askedBy: 'Asked by assistant › secretary',
    buttons: ['Sign in', 'Deny', 'Add a reason'],
    after: 'Signed in, in progress',
  },
  ja: {
    state: 'ログインが必要です',
    text: '新しいウィンドウで accounts.example にログインしてください。そのあと、アシスタントがここで続けます。',
    askedBy: '依頼したエージェント：assistant › secretary',
    buttons: ['ログイン', '拒否', '理由を追加'],
    after: 'ログイン済み、実行中',
  },
};

const onDecide = vi.fn();
const open = vi.fn();

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  Element.prototype.scrollIntoView = () => {};
  vi.stubGlobal('open', open);
  for (const one of [onDecide, open]) one.mockClear();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  localStorage.clear();
});

const drawn = (part: ToolPart) => (
  <ReachProvider reach="live">
    <ApprovalCard part={part} onDecide={onDecide} />
  </ReachProvider>
);

/** Shows the card, and waits until its buttons work. */
async function show(part: ToolPart): Promise<(part: ToolPart) => Promise<void>> {
  await import('../src/i18n/ja.ts');
  const draw = await mount(drawn(part));
  await act(async () => vi.advanceTimersByTime(400));
  return (next) => draw(drawn(next));
}

const card = () => document.querySelector('[data-testid=approval-card]') as HTMLElement;
const buttons = () => [...card().querySelectorAll('button')];
const press = (index: number) => act(async () => buttons()[index]?.click());
const state = () => card().querySelector('[data-testid=approval-state]')?.textContent;

describe.each(['en', 'ja'] as const)('the card of a sign-in (%s)', (language) => {
  const words = WORDS[language];
  beforeEach(() => localStorage.setItem('duologue.language', language));

  test('names the provider and who asks, and opens the address in a window that knows nothing of the page', async () => {
    const draw = await show(asking());
    expect(state()).toBe(words.state);
    expect(card().textContent).toContain(words.text);
    expect(card().textContent).not.toContain('Sign in at accounts.example to continue.');
    expect(card().querySelector('[data-testid=asked-by]')?.textContent).toBe(words.askedBy);
    expect(buttons().map((one) => one.textContent)).toEqual(words.buttons);
    await press(0);
    expect(open).toHaveBeenCalledExactlyOnceWith(ADDRESS, '_blank', 'noopener,noreferrer');
    // Only the callback of the provider can end the sign-in, so the card still asks.
    expect(onDecide).not.toHaveBeenCalled();
    expect(state()).toBe(words.state);
    await draw({
      ...asking(),
      state: 'approval-responded',
      approval: { id: 'a1', approved: true, descriptor: { signInUrl: ADDRESS } },
    });
    expect(state()).toBe(words.after);
  });

  test('is denied like any other request', async () => {
    await show(asking());
    await press(1);
    expect(onDecide).toHaveBeenCalledExactlyOnceWith('c1', false, '');
    expect(open).not.toHaveBeenCalled();
  });

  test('has no fault that axe knows', async () => {
    await show(asking());
    vi.useRealTimers();
    const { violations } = await axe.run(card(), { rules: { 'color-contrast': { enabled: false } } });
    expect(violations.map(({ id }) => id)).toEqual([]);
  });
});

test.each(['javascript:alert(1)', 'data:text/html,x', 'https://', ''])(
  'an address that no browser may open is not opened: %s',
  async (address) => {
    await show(asking(address));
    await press(0);
    expect(open).not.toHaveBeenCalled();
  },
);
