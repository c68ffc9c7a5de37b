// @vitest-environment jsdom
import type { PendingApproval } from 'duologue/react';
import { act } from 'react';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { useWaitingSign } from '../src/approval/use-waiting-sign.ts';
import { mountHook } from './support/mount.tsx';

const approval = (id: string, expiresAt: number | null) => ({ id, expiresAt }) as PendingApproval;

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

test('says how many approvals wait, and counts the seconds of the one that expires first', async () => {
  const none = await mountHook(() => useWaitingSign([]));
  expect(none.result).toBe(null);
  const untimed = await mountHook(() => useWaitingSign([approval('a', null)]));
  expect(untimed.result).toBe('(1) Approval waiting');
  const two = [approval('a', 1_030_000), approval('b', 1_005_000)];
  const timed = await mountHook(() => useWaitingSign(two));
  expect(timed.result).toBe('(2) Approvals waiting, 5 s');
  await act(async () => vi.advanceTimersByTime(3000));
  expect(timed.result).toBe('(2) Approvals waiting, 2 s');
  await act(async () => vi.advanceTimersByTime(3000));
  expect(timed.result).toBe('(1) Approval waiting, 24 s');
});

test.each([
  ['granted', true, 1],
  ['granted', false, 0],
  ['default', true, 0],
  ['denied', true, 0],
])('notifies when that is %s and the page is hidden (%s): %i times', async (permission, hidden, times) => {
  const reported: string[] = [];
  const close = vi.fn();
  vi.stubGlobal(
    'Notification',
    Object.assign(
      class {
        close = close;
        constructor(title: string) {
          reported.push(title);
        }
      },
      { permission },
    ),
  );
  vi.spyOn(document, 'hidden', 'get').mockReturnValue(hidden);
  const page = await mountHook(() => useWaitingSign([approval('a', null)]));
  expect(reported).toEqual(Array.from({ length: times }, () => '1 approval waiting'));
  await page.again(() => useWaitingSign([]));
  expect(close).toHaveBeenCalledTimes(times);
});
