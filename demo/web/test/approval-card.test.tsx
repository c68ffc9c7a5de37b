// @vitest-environment jsdom
import axe from 'axe-core';
import { OUTCOME_UNKNOWN } from 'duologue/protocol';
import { act } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { ApprovalCard } from '../src/approval/approval-card.tsx';
import { useWhereabouts } from '../src/approval/elsewhere.tsx';
import { type Reach, ReachProvider } from '../src/approval/reach.tsx';
import { LanguageProvider } from '../src/i18n/language.tsx';
import type { ToolPart } from '../src/tools/tool-part.ts';
import { Announcer } from '../src/ui/announcer.tsx';
import { mountHook } from './support/mount.tsx';

const ASKING: ToolPart = {
  type: 'tool-process_payment',
  toolCallId: 'c1',
  state: 'approval-requested',
  input: { amount: 50, recipient: 'Alice', currency: 'USD', description: 'x'.repeat(400) },
  approval: { id: 'a1' },
};

let root: Root;
let composer: HTMLTextAreaElement;
const onDecide = vi.fn();

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  Element.prototype.scrollIntoView = () => {};
  document.body.innerHTML = '<textarea id="message" aria-label="Message"></textarea><main></main>';
  composer = document.querySelector('textarea') as HTMLTextAreaElement;
  root = createRoot(document.querySelector('main') as HTMLElement);
  onDecide.mockClear();
});

afterEach(async () => {
  await act(async () => root.unmount());
  vi.useRealTimers();
});

function show(...parts: ToolPart[]): Promise<void> {
  return showWithin('live', ...parts);
}

async function showWithin(reach: Reach, ...parts: ToolPart[]): Promise<void> {
  await act(async () =>
    root.render(
      <LanguageProvider>
        <Announcer>
          <ReachProvider reach={reach}>
            {parts.map((part) => (
              <ApprovalCard key={part.toolCallId} part={part} onDecide={onDecide} />
            ))}
          </ReachProvider>
        </Announcer>
      </LanguageProvider>,
    ),
  );
  await act(async () => vi.advanceTimersByTime(400));
}

const card = () => document.querySelector('[data-testid=approval-card]') as HTMLElement;
const button = (name: string) =>
  [...card().querySelectorAll('button')].find((one) => one.textContent === name) as HTMLButtonElement;
const press = (target: Element, init: KeyboardEventInit) =>
  act(async () => target.dispatchEvent(new KeyboardEvent('keydown', { bubbles: true, ...init })));

describe('an approval card', () => {
  test('shows every argument that does not stand in its sentence, long ones folded, and says it to screen readers', async () => {
    await show(ASKING);
    const names = [...card().querySelectorAll('dt')].map((one) => one.textContent);
    expect(names).toEqual(['description']);
    const long = card().querySelector('dd') as HTMLElement;
    expect(long.textContent).toBe(`${'x'.repeat(180)}…Show all`);
    await act(async () => long.querySelector('button')?.click());
    expect(long.textContent).toBe(`${'x'.repeat(400)}Show less`);
    expect(document.querySelector('[aria-live=assertive]')?.textContent).toMatch(
      /^Approval needed: Send \$50\.00 to Alice\./,
    );
  });

  test.each<[string, Partial<ToolPart>, boolean]>([
    ['done', { state: 'output-available', output: {} }, false],
    ['denied', { state: 'output-error', errorText: 'User denied the tool call' }, false],
    ['failed', { state: 'output-error', errorText: 'Insufficient funds.' }, true],
    ['unknown', { state: 'output-error', errorText: OUTCOME_UNKNOWN }, true],
  ])('that is %s is one line that unfolds; what needs a look is unfolded', async (state, change, isOpen) => {
    await show({ ...ASKING, ...change });
    expect(card().dataset.state).toBe(state);
    const line = card().querySelector('button[aria-expanded]') as HTMLButtonElement;
    const isUnfolded = () => card().querySelector('dt')?.textContent === 'description';
    expect([line.ariaExpanded ?? line.getAttribute('aria-expanded'), isUnfolded()]).toEqual([
      String(isOpen),
      isOpen,
    ]);
    await act(async () => line.click());
    expect(isUnfolded()).toBe(!isOpen);
  });

  test('takes the focus, but neither Enter nor a letter decides', async () => {
    await show(ASKING);
    expect(document.activeElement).toBe(card());
    for (const key of ['Enter', ' ', 'y', 'n']) await press(card(), { key, code: key });
    expect(onDecide).not.toHaveBeenCalled();
    await press(card(), { key: 'y', code: 'KeyY', altKey: true });
    expect(onDecide).toHaveBeenCalledExactlyOnceWith('c1', true, '');
  });

  test('shows what the tool says and sends its payload back, changed or not, with an approval alone', async () => {
    const descriptor = { message: 'How many seats?', payload: { seats: 1, name: 'Ann' } };
    await show({ ...ASKING, approval: { id: 'a1', descriptor } });
    expect(card().textContent).toContain('How many seats?');
    const [seats] = card().querySelectorAll('input');
    await act(async () => {
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(seats, 'x');
      seats?.dispatchEvent(new Event('input', { bubbles: true }));
    });
    await act(async () => button('Approve').click());
    expect(onDecide).not.toHaveBeenCalled();
    expect(card().textContent).toContain('Please fill this in.');
    await act(async () => {
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(seats, '3');
      seats?.dispatchEvent(new Event('input', { bubbles: true }));
    });
    await press(card(), { key: 'y', code: 'KeyY', altKey: true });
    expect(onDecide).toHaveBeenCalledExactlyOnceWith('c1', true, '', { seats: 3, name: 'Ann' });
    await act(async () => button('Deny').click());
    expect(onDecide).toHaveBeenLastCalledWith('c1', false, '');
  });

  test.each([
    ['en', 'Asked by assistant › banker'],
    ['ja', '依頼したエージェント：assistant › banker'],
  ])(
    'names the agents on the way to a call inside an agent that is used as a tool (%s)',
    async (language, line) => {
      localStorage.setItem('duologue.language', language);
      onTestFinished(() => localStorage.clear());
      await import('../src/i18n/ja.ts');
      const askedBy = () => card().querySelector('[data-testid=asked-by]')?.textContent;
      await show(ASKING);
      expect(askedBy()).toBeUndefined();
      await show({ ...ASKING, toolMetadata: { agents: ['assistant', 'banker'] } });
      expect(askedBy()).toBe(line);
    },
  );

  test('leaves the focus with someone who is writing', async () => {
    composer.value = 'I am in the middle of';
    composer.focus();
    await show(ASKING);
    expect(document.activeElement).toBe(composer);
  });

  test('gives the focus back when it is settled', async () => {
    composer.focus();
    await show(ASKING);
    expect(document.activeElement).toBe(card());
    await show({ ...ASKING, state: 'output-available', output: {} });
    expect(document.activeElement).toBe(composer);
  });

  test.each([
    ['decided by its button', 'Approve', { state: 'approval-responded' } as const],
    ['expired', 'Add a reason', { state: 'output-error', errorText: 'Approval request timed out' } as const],
  ])('gives the focus back when it is %s while something in it has the focus', async (_, name, change) => {
    composer.focus();
    await show(ASKING);
    await act(async () => button(name).focus());
    await act(async () => button(name).click());
    await show({ ...ASKING, ...change });
    expect(document.activeElement).toBe(composer);
  });

  test('gives the focus to the next card that asks', async () => {
    await show(ASKING, { ...ASKING, toolCallId: 'c2' });
    await act(async () => button('Deny').focus());
    await show({ ...ASKING, state: 'approval-responded' }, { ...ASKING, toolCallId: 'c2' });
    expect(document.activeElement).toBe(document.querySelectorAll('[data-testid=approval-card]')[1]);
  });

  test('gives the focus to the message box when what had it before is gone', async () => {
    const gone = document.body.appendChild(document.createElement('button'));
    gone.focus();
    await show(ASKING);
    gone.remove();
    await show({ ...ASKING, state: 'output-available', output: {} });
    expect(document.activeElement).toBe(composer);
  });

  test('decides by its buttons, after a moment, with the reason', async () => {
    await show(ASKING);
    await act(async () => button('Add a reason').click());
    const input = card().querySelector('input') as HTMLInputElement;
    expect(document.activeElement).toBe(input);
    await act(async () => {
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(input, ' no ');
      input.dispatchEvent(new Event('input', { bubbles: true }));
    });
    await act(async () => button('Approve').click());
    expect(onDecide).toHaveBeenCalledExactlyOnceWith('c1', true, 'no');
  });

  test('denies on Enter in a reason that has words, and that an input method has finished', async () => {
    await show(ASKING);
    await act(async () => button('Add a reason').click());
    const input = card().querySelector('input') as HTMLInputElement;
    await press(input, { key: 'Enter' });
    await act(async () => {
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(input, ' no ');
      input.dispatchEvent(new Event('input', { bubbles: true }));
    });
    await press(input, { key: 'Enter', isComposing: true });
    expect(onDecide).not.toHaveBeenCalled();
    await press(input, { key: 'Enter' });
    expect(onDecide).toHaveBeenCalledExactlyOnceWith('c1', false, 'no');
  });

  test('counts down, and warns when little time is left', async () => {
    await show({ ...ASKING, approval: { id: 'a1', descriptor: { expiresAt: Date.now() + 30_000 } } });
    expect(card().querySelector('[role=timer]')?.textContent).toBe('30 s left');
    await act(async () => vi.advanceTimersByTime(20_000));
    expect(card().querySelector('[role=timer]')?.textContent).toBe('10 s left');
    expect(document.querySelector('[aria-live=assertive]')?.textContent).toBe('10 seconds left to decide.');
  });

  test('counts a long time in minutes', async () => {
    await show({ ...ASKING, approval: { id: 'a1', descriptor: { expiresAt: Date.now() + 600_000 } } });
    const left = () => card().querySelector('[role=timer]')?.textContent;
    expect(left()).toBe('10 min left');
    await act(async () => vi.advanceTimersByTime(479_000));
    expect(left()).toBe('2 min left');
  });

  test('runs out by itself where the server cannot tell, and what was decided goes on', async () => {
    const approval = { id: 'a1', descriptor: { expiresAt: Date.now() + 5_000 } };
    const parts: ToolPart[] = [
      { ...ASKING, approval },
      { ...ASKING, toolCallId: 'c2', state: 'approval-responded', approval: { ...approval, approved: true } },
    ];
    const states = () =>
      [...document.querySelectorAll<HTMLElement>('[data-testid=approval-card]')].map(
        ({ dataset }) => dataset.state,
      );
    await showWithin('idle', ...parts);
    expect(states()).toEqual(['requested', 'processing']);
    await act(async () => vi.advanceTimersByTime(5_000));
    expect(states()).toEqual(['expired', 'processing']);
    expect(button('Approve')).toBeUndefined();
    await showWithin('live', ...parts);
    expect(states()).toEqual(['requested', 'processing']);
  });

  test('has its keys anywhere on the page, unless another one asks before it or a dialog is open', async () => {
    await show(ASKING, { ...ASKING, toolCallId: 'c2' });
    expect(document.querySelector('[aria-live=assertive]')?.textContent).not.toContain('Alt+Y');
    composer.focus();
    const dialog = document.body.appendChild(document.createElement('div'));
    dialog.setAttribute('role', 'dialog');
    const key = { key: 'y', code: 'KeyY', altKey: true, cancelable: true };
    await press(composer, key);
    expect(onDecide).not.toHaveBeenCalled();
    dialog.remove();
    await press(composer, key);
    expect(onDecide).toHaveBeenCalledExactlyOnceWith('c1', true, '');
  });

  test.each<[Reach, string]>([
    ['elsewhere', 'This conversation is open elsewhere. Press “Use here” to decide.'],
    ['closed', 'No connection. Reconnect to decide.'],
  ])('cannot be answered where decisions lead nowhere, and says why: %s', async (reach, why) => {
    await showWithin(reach, ASKING);
    expect([button('Approve').disabled, button('Deny').disabled]).toEqual([true, true]);
    expect(card().textContent).toContain(why);
    await press(card(), { key: 'y', code: 'KeyY', altKey: true });
    expect(onDecide).not.toHaveBeenCalled();
    await showWithin('live', ASKING);
    expect([button('Approve').disabled, button('Deny').disabled]).toEqual([false, false]);
    expect(card().textContent).not.toContain(why);
  });

  test.each<[Reach, string, string]>([
    ['live', 'Approved, in progress', 'In progress. Please wait.'],
    ['away', 'Approved', 'No connection. Your decision will be sent when the connection is back.'],
    ['unsure', 'Approved', 'Your decision may not have reached the server. Please try again.'],
    ['elsewhere', 'Approved', 'The result is shown where the conversation continues.'],
  ])('that was approved says no more than the page knows: %s', async (reach, title, text) => {
    await showWithin(reach, {
      ...ASKING,
      state: 'approval-responded',
      approval: { id: 'a1', approved: true },
    });
    expect(card().querySelector('[data-testid=approval-state]')?.textContent).toBe(title);
    expect(card().textContent).toContain(text);
  });

  test.each<[string, Partial<ToolPart>]>([
    ['Needs your approval', {}],
    ['Approved, in progress', { state: 'approval-responded', approval: { id: 'a1', approved: true } }],
    ['Denying', { state: 'approval-responded', approval: { id: 'a1', approved: false } }],
    ['Done', { state: 'output-available', output: {} }],
    ['Denied', { state: 'output-error', errorText: 'User denied the tool call' }],
    ['Expired', { state: 'output-error', errorText: 'Approval request timed out' }],
    ['Failed', { state: 'output-error', errorText: 'Insufficient funds.' }],
    ['Cancelled', { state: 'output-error', errorText: 'Interrupted by the user' }],
  ])('that says “%s” has nothing that stands in the way of assistive technology', async (title, change) => {
    await show({ ...ASKING, ...change });
    expect(card().querySelector('[data-testid=approval-state]')?.textContent).toBe(title);
    vi.useRealTimers();
    const { violations } = await axe.run(card(), { rules: { 'color-contrast': { enabled: false } } });
    expect(violations.map(({ id }) => id)).toEqual([]);
  });
});

test('a decision was made on another page unless it was made on this one, and so', async () => {
  vi.useRealTimers();
  const page = await mountHook(useWhereabouts);
  const reported = (toolCallId: string, approved: boolean) =>
    page.result.hear({
      type: 'data-decided',
      transient: true,
      data: { toolCallId, messageId: 'm', approved, by: 'someone' },
    });
  await act(async () => {
    for (const call of ['here', 'too late']) page.result.note(call, true);
    reported('here', true);
    reported('too late', false);
    reported('there', true);
  });
  expect([...page.result.elsewhere]).toEqual(['too late', 'there']);
});
