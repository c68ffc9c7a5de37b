// @vitest-environment jsdom
import { act } from 'react';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { useHoldKey } from '../src/voice/use-hold-key.ts';
import { mountHook } from './support/mount.tsx';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const key = (type: string, name: string) =>
  act(async () => window.dispatchEvent(new KeyboardEvent(type, { key: name })));

test.each([
  ['open', true, 250],
  ['closed', false, 700],
])(
  'the key to talk counts when voice is %s, too, if it is held alone for long enough',
  async (_, isOpen, ms) => {
    const [press, release] = [vi.fn(), vi.fn()];
    await mountHook(() => useHoldKey(isOpen, press, release));
    await key('keydown', 'Control');
    await act(async () => vi.advanceTimersByTime(ms - 1));
    expect(press).not.toHaveBeenCalled();
    await act(async () => vi.advanceTimersByTime(1));
    expect(press).toHaveBeenCalledOnce();
    await key('keyup', 'Control');
    expect(release).toHaveBeenCalledOnce();
    // Another key while the key is held makes it a shortcut, so `press` is not called again.
    await key('keydown', 'Control');
    await key('keydown', 'c');
    await act(async () => vi.advanceTimersByTime(1000));
    expect(press).toHaveBeenCalledOnce();
  },
);
