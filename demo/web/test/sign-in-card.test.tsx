// @vitest-environment jsdom
import axe from 'axe-core';
import { APPROVAL_TIMED_OUT } from 'duologue/protocol';
import { act } from 'react';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ApprovalCard } from '../src/approval/approval-card.tsx';
import { type Reach, ReachProvider } from '../src/approval/reach.tsx';
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
    announced: 'Sign-in needed: Run read_calendar. Press Alt+Y to sign in in a new window, Alt+N to deny.',
    after: 'Signed in, in progress',
    away: 'No connection. The result is shown when the connection is back.',
    ends: {
      denied: ['Not signed in', 'The sign-in was not completed. Nothing was done.', 'Reason: not now'],
      expired: ['Expired', 'There was no sign-in in time. Nothing was done.'],
    },
  },
  ja: {
    state: 'ログインが必要です',
    text: '新しいウィンドウで accounts.example にログインしてください。そのあと、アシスタントがここで続けます。',
    askedBy: '依頼したエージェント：assistant › secretary',
    buttons: ['ログイン', '拒否', '理由を追加'],
    announced:
      'ログインが必要です：read_calendar を実行します。 Alt+Y で新しいウィンドウを開いてログイン、Alt+N で拒否します。',
    after: 'ログイン済み、実行中',
    away: '接続が切れています。再接続したら、結果を表示します。',
    ends: {
      denied: ['ログイン未完了', 'ログインは完了していません。何も実行されていません。', '理由: not now'],
      expired: ['期限切れ', '時間内にログインされませんでした。何も実行されていません。'],
    },
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

const drawn = (part: ToolPart, reach: Reach) => (
  <ReachProvider reach={reach}>
    <ApprovalCard part={part} onDecide={onDecide} />
  </ReachProvider>
);

/** Shows the card, and waits until its buttons work. */
async function show(part: ToolPart): Promise<(part: ToolPart, reach?: Reach) => Promise<void>> {
  await import('../src/i18n/ja.ts');
  const draw = await mount(drawn(part, 'live'));
  await act(async () => vi.advanceTimersByTime(400));
  return (next, reach = 'live') => draw(drawn(next, reach));
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
    const approval = { id: 'a1', approved: true, descriptor: { signInUrl: ADDRESS } };
    await draw({ ...asking(), state: 'approval-responded', approval }, 'away');
    expect(card().textContent).toContain(words.away);
  });

  test('is announced as a sign-in, with its keys', async () => {
    await show(asking());
    expect(document.querySelector('[aria-live=assertive]')?.textContent).toBe(words.announced);
  });

  test.each([
    ['denied', 'User denied the tool call: not now'],
    ['expired', APPROVAL_TIMED_OUT],
  ] as const)('that is %s says so, and what became of it', async (end, errorText) => {
    const draw = await show(asking());
    const approval = { ...asking().approval, id: 'a1', ...(end === 'denied' ? { reason: 'not now' } : {}) };
    await draw({ ...asking(), state: 'output-error', errorText, approval });
    await press(0);
    const [title, ...lines] = words.ends[end];
    expect(state()).toBe(title);
    expect([...card().querySelectorAll('p')].map((one) => one.textContent)).toEqual(lines);
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
